import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, onTestFinished, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { type GatewayUnderTest, type Home, PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const DAY_MS = 86_400_000;
const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
/** Its next time is half a day away. */
const daily = { kind: "every", everyMs: DAY_MS, anchorMs: Date.now() - 10.5 * DAY_MS };
const silently = { schedule: daily, message: "look", delivery: { mode: "none" } };

async function add(gateway: GatewayUnderTest, job: object): Promise<string> {
  return Object(await call(gateway, "cron.add", job)).id;
}

async function runsOf(
  gateway: GatewayUnderTest,
  id?: string,
): Promise<readonly { status: string; summary?: string; error?: string }[]> {
  return Object(await call(gateway, "cron.runs", { ...(id !== undefined && { id }), sortDir: "asc" })).entries;
}

const broken = (world: World) =>
  world.model.answer((asked) => (asked.said.includes("[cron:") ? { status: 401, message: "bad key" } : { text: "hi" }));

/** The owner has a direct chat. */
async function acquaint(world: World): Promise<void> {
  world.telegram.say("hello");
  await world.told("hi");
}

/** What a server of this machine is called with. */
async function listening(): Promise<{ readonly url: (host: string) => string; readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      bodies.push(body);
      response.end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: (host) => `http://${host}:${Object(server.address()).port}/`, bodies };
}

/** As if the job had last been looked at so long ago. */
function setBack(home: Home, ms: number): void {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"));
  try {
    journal
      .prepare("UPDATE cron_jobs SET state = json_set(state, '$.cursorMs', json_extract(state, '$.cursorMs') - ?)")
      .run(ms);
  } finally {
    journal.close();
  }
}

describe.concurrent("the config of scheduled jobs", () => {
  test("switches them off, and how many run at once", async ({ world, expect }) => {
    const off = await world.start({ cron: { enabled: false } });
    await add(off.gateway, { ...silently, schedule: { kind: "at", at: "1s" } });
    expect(await call(off.gateway, "cron.status")).toMatchObject({ enabled: false, jobs: 1 });
    const one = await world.start({ cron: { maxConcurrentRuns: 1 }, channels: { telegram: { enabled: false } } });
    world.model.answer(() => ({ text: "a b c d e f g h", everyMs: 20 }));
    const at = new Date(Date.now() + 300).toISOString();
    for (const name of ["a", "b", "c"]) await add(one.gateway, { ...silently, name, schedule: { kind: "at", at } });
    let most = 0;
    await vi.waitFor(async () => {
      most = Math.max(most, Object(await call(one.gateway, "cron.status")).running);
      expect(await runsOf(one.gateway)).toHaveLength(3);
    }, PATIENCE);
    expect(most).toBe(1);
    expect(await runsOf(off.gateway)).toEqual([]);
  });

  test("says how often and after what a single one is tried again", async ({ world, expect }) => {
    const { gateway } = await world.start({ cron: { retry: { maxAttempts: 1, backoffMs: [50], retryOn: ["auth"] } } });
    broken(world);
    const id = await add(gateway, { ...silently, schedule: { kind: "at", at: "1s" } });
    await vi.waitFor(async () => expect(await runsOf(gateway, id)).toHaveLength(2), PATIENCE);
    // Its run is written down before the job itself.
    await vi.waitFor(
      async () => expect(await call(gateway, "cron.get", { id })).toMatchObject({ enabled: false }),
      PATIENCE,
    );
  });

  test("lets missed slots be skipped", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ cron: { skipMissedJobs: true } });
    world.model.answer(() => ({ text: "done" }));
    await add(gateway, silently);
    await gateway.kill();
    setBack(home, 2.5 * DAY_MS);
    const again = await home.start();
    await vi.waitFor(
      async () =>
        expect(await runsOf(again)).toMatchObject([{ status: "skipped", summary: expect.stringContaining("missed") }]),
      PATIENCE,
    );
    expect(world.model.calls).toHaveLength(0);
  });

  test("names the webhook of older jobs, and may allow every private address", async ({ world, expect }) => {
    const { url, bodies } = await listening();
    const { gateway } = await world.start({
      cron: { webhook: url("localhost"), webhookSsrfPolicy: { dangerouslyAllowPrivateNetwork: true } },
    });
    world.model.answer(() => ({ text: "done" }));
    const id = await add(gateway, { schedule: silently.schedule, message: "look", notify: true });
    await call(gateway, "cron.run", { id });
    await vi.waitFor(() => expect(bodies).toHaveLength(1), PATIENCE);
  });

  test("says how long conversations and how many records are kept", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ cron: { sessionRetention: "1ms", runLog: { keepLines: 1 } } });
    world.model.answer(() => ({ text: "done" }));
    const id = await add(gateway, silently);
    for (const count of [1, 2]) {
      await call(gateway, "cron.run", { id });
      await vi.waitFor(async () => expect(await runsOf(gateway)).toHaveLength(count), PATIENCE);
    }
    const sessions = async (at: GatewayUnderTest) =>
      JSON.stringify(await call(at, "sessions.list", {})).match(/cron:[\w-]+:run:/g) ?? [];
    expect(new Set(await sessions(gateway)).size).toBeGreaterThan(0);
    await gateway.kill();
    const again = await home.start();
    await vi.waitFor(async () => {
      expect(await sessions(again)).toEqual([]);
      expect(await runsOf(again)).toHaveLength(1);
    }, PATIENCE);
  });

  test("says when and where alerts go", async ({ world, expect }) => {
    const { gateway } = await world.start({
      ...OWNED,
      cron: { failureAlert: { after: 1, cooldownMs: 0 }, failureDestination: { channel: "telegram", to: "2002" } },
    });
    broken(world);
    await acquaint(world);
    const id = await add(gateway, { ...silently, name: "report" });
    for (const count of [1, 2]) {
      await call(gateway, "cron.run", { id });
      await vi.waitFor(() => expect(world.telegram.shown(2002)).toHaveLength(count), PATIENCE);
    }
    expect(world.telegram.shown(1001)).toEqual(["hi"]);
  });

  test("says which account sends alerts", async ({ world, expect }) => {
    const alerts = { failureAlert: { after: 1, cooldownMs: 0, accountId: "spare" } };
    const destination = {
      failureDestination: { mode: "announce", channel: "telegram", to: "2002", accountId: "other" },
    };
    for (const [cron, account] of [
      [{ ...alerts, failureDestination: { channel: "telegram", to: "2002" } }, "spare"],
      [{ failureAlert: { after: 1 }, ...destination }, "other"],
    ] as const) {
      const { gateway } = await world.start({ cron, channels: { telegram: { enabled: account === "other" } } });
      broken(world);
      await call(gateway, "cron.run", { id: await add(gateway, silently) });
      const line = await gateway.logged("the alert of a scheduled job could not be carried out");
      expect(JSON.stringify(line)).toContain(account);
    }
  });

  test("may switch alerts off", async ({ world, expect }) => {
    const { gateway } = await world.start({ ...OWNED, cron: { failureAlert: { enabled: false, after: 1 } } });
    broken(world);
    await acquaint(world);
    const id = await add(gateway, silently);
    await call(gateway, "cron.run", { id });
    await vi.waitFor(async () => expect(await runsOf(gateway)).toMatchObject([{ status: "error" }]), PATIENCE);
    expect(world.telegram.shown(1001)).toEqual(["hi"]);
  });

  test("may send alerts to a webhook, also about skipped slots", async ({ world, expect }) => {
    const { url, bodies } = await listening();
    const { home, gateway } = await world.start({
      cron: {
        skipMissedJobs: true,
        webhookSsrfPolicy: { allowedHostnames: ["127.0.0.1"] },
        failureAlert: { after: 1, includeSkipped: true, mode: "webhook" },
        failureDestination: { to: url("127.0.0.1") },
      },
    });
    await add(gateway, { ...silently, name: "report" });
    await gateway.kill();
    setBack(home, 2.5 * DAY_MS);
    await home.start();
    await vi.waitFor(() => expect(bodies.join()).toContain('The scheduled task \\"report\\" was skipped'), PATIENCE);
  });
});
