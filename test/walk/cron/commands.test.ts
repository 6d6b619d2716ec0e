import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { type GatewayUnderTest, PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { expectShape } from "../../server/shapes.ts";

const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
const FREE = { ...OWNED, tools: { exec: { security: "full", ask: "off" } } };
const DAILY = { kind: "every", everyMs: 86_400_000 };

interface Run {
  readonly status: string;
  readonly summary?: string;
  readonly error?: string;
}

const runsOf = async (gateway: GatewayUnderTest, id: string): Promise<readonly Run[]> =>
  Object(await call(gateway, "cron.runs", { id })).entries;

/** Adds a job that runs the command, and runs it once. */
async function runOf(gateway: GatewayUnderTest, payload: object, more: object = {}): Promise<Run> {
  const job = Object(
    await call(gateway, "cron.add", {
      name: "probe",
      schedule: DAILY,
      payload: { kind: "command", ...payload },
      ...more,
    }),
  );
  await call(gateway, "cron.run", { id: job.id });
  return vi.waitUntil(async () => (await runsOf(gateway, job.id))[0], PATIENCE);
}

const shell = (text: string) => ({ argv: ["sh", "-lc", text] });
const kept = { delivery: { mode: "none" } };

async function acquaint(world: World): Promise<void> {
  world.model.answer(() => ({ text: "hi" }));
  world.telegram.say("hello");
  await world.told("hi");
}

describe.concurrent("a scheduled command", () => {
  test("runs without a model and sends its output to the owner's chat as it is", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    await acquaint(world);
    const text = "echo depth is $DEPTH; cat; echo '[[media:/etc/passwd]]'";
    const given = ["--command-env", "DEPTH=7", "--command-input", "and it's calm\n"];
    const added = await home.run(["cron", "add", "--every", "1d", "--name", "depth", "--command", text, ...given]);
    expect(added.stdout).toMatch(/what +\$ echo depth is \$DEPTH[\s\S]*runs without a model/);
    const [, id = ""] = /id +(\S+)/.exec(added.stdout) ?? [];
    expect((await home.run(["cron", "run", id, "--wait", "--poll-interval", "50ms"])).code).toBe(0);
    const told = await world.told("depth is 7", 1001);
    expect(told.text).toContain("and it's calm");
    expect(told.text).toContain("[[media:/etc/passwd]]");
    expect(world.model.calls).toHaveLength(1);
    const [run] = await runsOf(gateway, id);
    expectShape("CronRunLogEntry", run);
    expect(run).toMatchObject({
      status: "ok",
      deliveryStatus: "delivered",
      summary: expect.stringMatching(/^depth is 7\n/),
    });
    expectShape("CronJob", await call(gateway, "cron.get", { id }));
    world.telegram.say("what was that?");
    await vi.waitUntil(() => world.model.calls.length === 2, PATIENCE);
    expect(JSON.stringify(world.model.calls[1]?.messages)).toMatch(
      /command, and not you, has written[^]*EXTERNAL_UNTRUSTED_CONTENT[^]*depth is 7/,
    );
    const why = await home.run(["why", String(Object(run).runId)]);
    expect(why.stdout).toMatch(/exec/);
  });

  test("is silent without output, and fails with the exit code, the time limit and the end of the output", async ({
    world,
    expect,
  }) => {
    const { gateway } = await world.start(FREE);
    await acquaint(world);
    expect(await runOf(gateway, shell("true"))).toMatchObject({ status: "ok", deliveryStatus: "not-delivered" });
    expect(await runOf(gateway, shell("echo NO_REPLY"))).toMatchObject({
      status: "ok",
      deliveryStatus: "not-delivered",
    });
    const failed = await runOf(gateway, shell("echo no disk >&2; exit 3"));
    expect(failed).toMatchObject({ status: "error", error: expect.stringMatching(/exit code 3[\s\S]*no disk/) });
    await world.told(/probe: the scheduled task failed[\s\S]*exit code 3/, 1001);
    const late = await runOf(gateway, { ...shell("sleep 60"), timeoutSeconds: 0.2 }, kept);
    expect(late).toMatchObject({ status: "error", error: expect.stringContaining("took too long") });
    const long = await runOf(gateway, { ...shell("seq 1 1000"), outputMaxBytes: 20 }, kept);
    expect(long.summary).toBe("[…]\n996\n997\n998\n999\n1000");
    const words = await runOf(gateway, { argv: ["printf", "%s|", "a b", "$HOME", "it's"], cwd: "/" }, kept);
    expect(words.summary).toBe("a b|$HOME|it's|");
  });

  test("needs the permission that an agent's command needs", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ ...OWNED, agents: { defaults: { sandbox: { mode: "off" } } } });
    const refused = await runOf(gateway, { argv: ["id", "-u"] }, kept);
    expect(refused).toMatchObject({ status: "error", error: expect.stringContaining("approvals allowlist add") });
    expect((await home.run(["approvals", "allowlist", "add", "id"])).code).toBe(0);
    expect(await runOf(gateway, { argv: ["id", "-u"] }, kept)).toMatchObject({ status: "ok" });
    const { gateway: without } = await world.start({
      ...FREE,
      tools: { deny: ["exec"] },
      channels: { telegram: { enabled: false } },
    });
    const removed = await runOf(without, { argv: ["id"] }, kept);
    expect(removed).toMatchObject({ status: "error", error: expect.stringContaining("tools.deny") });
  });

  test("that a kill interrupted is not run again, and says so", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    const job = Object(
      await call(gateway, "cron.add", {
        schedule: DAILY,
        payload: { kind: "command", ...shell("echo begun >> begun.txt; sleep 60") },
        ...kept,
      }),
    );
    await call(gateway, "cron.run", { id: job.id });
    const file = join(home.stateDir, "workspace", "begun.txt");
    await vi.waitUntil(() => existsSync(file), PATIENCE);
    await gateway.kill("SIGKILL");
    const again = await home.start();
    const [run] = await vi.waitUntil(async () => {
      const runs = await runsOf(again, job.id);
      return runs.length > 0 && runs;
    }, PATIENCE);
    expect(run).toMatchObject({ status: "error", error: expect.stringContaining("interrupted") });
    expect(readFileSync(file, "utf8")).toBe("begun\n");
  });

  test("is the operator's to set up, and no agent's", async ({ world, expect }) => {
    const { gateway } = await world.start(FREE);
    const job = Object(
      await call(gateway, "cron.add", { schedule: DAILY, payload: { kind: "command", ...shell("true") }, ...kept }),
    );
    const tries = [
      { action: "add", job: { schedule: DAILY, payload: { kind: "command", argv: ["id"] } } },
      { action: "update", id: job.id, patch: { payload: { argv: ["id"] } } },
      { action: "update", id: job.id, patch: { payload: { kind: "agentTurn", message: "x" } } },
    ];
    const answers: string[] = [];
    world.model.answer((asked) => {
      if (asked.isAfterTool) answers.push(asked.toolText);
      const next = tries[answers.length];
      return next ? { tool: "cron", args: next } : { text: "done" };
    });
    world.telegram.say("set it up");
    await world.told("done");
    expect(answers).toHaveLength(3);
    for (const answer of answers) expect(answer).toContain("only the operator");
    expect(await call(gateway, "cron.get", { id: job.id })).toMatchObject({ payload: shell("true") });
    await expect(
      call(gateway, "cron.add", { schedule: DAILY, sessionTarget: "main", payload: { kind: "command", argv: ["id"] } }),
    ).rejects.toThrow("runs by itself");
  });
});
