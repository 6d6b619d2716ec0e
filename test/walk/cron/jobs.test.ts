import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, vi } from "vitest";
import type { ModelCall } from "../../fakes/model.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { type Home, PATIENCE } from "../../kit/gateway/process.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";
import { expectShape } from "../../server/shapes.ts";

const OWNED = { commands: { ownerAllowFrom: ["1001"] } };
function sendsOf(home: Home): readonly unknown[] {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return journal
      .prepare("SELECT state FROM outbox ORDER BY id")
      .all()
      .map((row) => row["state"]);
  } finally {
    journal.close();
  }
}

const toolsOf = (asked: ModelCall | undefined) => asked?.tools.map((tool) => tool.function.name);
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

describe.concurrent("a scheduled job", () => {
  test("runs once at its time and reports to the owner's chat", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNED);
    world.model.answer((asked) => ({ text: asked.said.includes("[cron:") ? "Two new mails." : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    const job = await call(gateway, "cron.add", {
      name: "mails",
      schedule: { kind: "at", at: soon(500) },
      payload: { kind: "agentTurn", message: "Are there new mails?" },
      deleteAfterRun: false,
    });
    expect(job).toMatchObject({
      name: "mails",
      enabled: true,
      sessionTarget: "isolated",
      delivery: { mode: "announce" },
    });
    await world.told("Two new mails.", 1001);
    await outcomesOf(home, 2);
    await vi.waitFor(async () => {
      const { entries } = Object(await call(gateway, "cron.runs", {}));
      expect(entries).toMatchObject([
        { status: "ok", deliveryStatus: "delivered", completionStatus: "succeeded", summary: "Two new mails." },
      ]);
    }, PATIENCE);
    // The record of a run is written before the job is switched off.
    await vi.waitFor(async () => {
      expect(await call(gateway, "cron.list", { enabled: "all" })).toMatchObject({ jobs: [{ enabled: false }] });
    }, PATIENCE);
    const asked = world.model.calls.find(({ said }) => said.includes("[cron:"));
    expect(asked?.said).toMatch(/mails\] Are there new mails\?\nIt is \d{4}-/);
    expect(asked?.system).toContain("scheduled task");
    expect(asked?.system).not.toContain("SOUL.md");
    world.telegram.say("what about them?");
    await outcomesOf(home, 3);
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain("Two new mails.");
  });

  test("is over when its subagents are, and their results are its answer", async ({ world, expect }) => {
    const { gateway } = await world.start(OWNED);
    const found = Promise.withResolvers<void>();
    world.model.answer(async (asked) => {
      if (asked.system.includes("# Subagent Context")) {
        await found.promise;
        return { text: "seven mails" };
      }
      if (asked.said.includes("[System Message]")) return { text: "You have seven mails." };
      if (asked.isAfterTool) return { text: "NO_REPLY" };
      return asked.said.includes("[cron:") ? { tool: "sessions_spawn", args: { task: "count mails" } } : { text: "hi" };
    });
    world.telegram.say("hello");
    await world.told("hi");
    await call(gateway, "cron.add", {
      name: "mails",
      schedule: { kind: "at", at: soon(200) },
      payload: { kind: "agentTurn", message: "Are there new mails?", toolsAllow: ["sessions_spawn"] },
      deleteAfterRun: false,
    });
    await vi.waitUntil(() => world.model.calls.length >= 4, PATIENCE);
    expect(await call(gateway, "cron.runs", {})).toMatchObject({ entries: [] });
    found.resolve();
    await world.told("You have seven mails.", 1001);
    await vi.waitFor(async () => {
      const { entries } = Object(await call(gateway, "cron.runs", {}));
      expect(entries).toMatchObject([{ status: "ok", deliveryStatus: "delivered", summary: "You have seven mails." }]);
    }, PATIENCE);
  });

  test("that an agent sets up in a chat arrives there, also after a kill", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNED);
    world.model.answer((asked) => {
      if (asked.said.includes("scheduled reminder is due")) return { text: "Time for tea!" };
      if (asked.isAfterTool) return { text: "I will remind you." };
      return { tool: "cron", args: { action: "add", at: "2s", text: "make tea" } };
    });
    world.telegram.say("remind me of tea in two seconds");
    await world.told("I will remind you.");
    await vi.waitFor(() => expect(sendsOf(home)).toEqual(["sent"]), PATIENCE);
    await gateway.kill("SIGKILL");
    await home.start();
    await world.told("Time for tea!", 1001);
    await outcomesOf(home, 2);
    const asked = world.model.calls.find(({ said }) => said.includes("scheduled reminder"));
    expect(asked?.said).toMatch(/System: \[.*\] make tea/);
    expect(world.telegram.shown(1001)).toEqual(["I will remind you.", "Time for tea!"]);
  });

  test("is not for guests to set up", async ({ world, expect }) => {
    const { gateway } = await world.start({ commands: { ownerAllowFrom: ["9999"] } });
    world.model.answer((asked) =>
      asked.isAfterTool ? { text: "I cannot." } : { tool: "cron", args: { action: "add", at: "1s", text: "x" } },
    );
    world.telegram.say("remind me");
    await world.told("I cannot.");
    expect(toolsOf(world.model.calls[0])).not.toContain("cron");
    expect(await call(gateway, "cron.list", { enabled: "all" })).toMatchObject({ total: 0 });
  });

  test("has the tools and the model that it names, and no others", async ({ world, expect }) => {
    const { gateway } = await world.start(OWNED);
    world.model.answer(() => ({ text: "done" }));
    const job = await call(gateway, "cron.add", {
      schedule: { kind: "every", everyMs: 86_400_000 },
      payload: { kind: "agentTurn", message: "look", toolsAllow: ["read"] },
      delivery: { mode: "none" },
    });
    await call(gateway, "cron.run", { id: Object(job).id });
    await vi.waitFor(() => expect(world.model.calls).toHaveLength(1), PATIENCE);
    expect(toolsOf(world.model.calls[0])).toEqual(["read"]);
  });

  test("that repeats lets its run choose when the next one comes", async ({ world, expect }) => {
    const { gateway } = await world.start(OWNED);
    const answers: string[] = [];
    world.model.answer((asked) => {
      if (asked.isAfterTool) answers.push(asked.toolText);
      return answers.length === 0 ? { tool: "cron", args: { action: "next_check", in: "30m" } } : { text: "done" };
    });
    const { id } = Object(
      await call(gateway, "cron.add", {
        schedule: { kind: "every", everyMs: 1000 },
        payload: { kind: "agentTurn", message: "look" },
        pacing: { min: "5m" },
        delivery: { mode: "none" },
      }),
    );
    await vi.waitFor(
      async () => expect(Object(await call(gateway, "cron.runs", { id })).entries).toHaveLength(1),
      PATIENCE,
    );
    expect(world.model.calls[0]?.said).toContain("at the earliest after 5m");
    expect(answers[0]).toContain('"ok":true');
    const job = Object(await call(gateway, "cron.get", { id }));
    expectShape("CronJob", job);
    expect(job.nextRunAtMs - Date.now()).toBeGreaterThan(25 * 60_000);
    expect(job.nextRunAtMs - Date.now()).toBeLessThan(31 * 60_000);
  });

  test("whose model is not there fails, and the owner is told without one", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ ...OWNED, cron: { failureAlert: { after: 1 } } });
    world.model.answer((asked) =>
      asked.said.includes("[cron:") ? { status: 401, message: "bad key" } : { text: "hi" },
    );
    world.telegram.say("hello");
    await world.told("hi");
    const job = Object(
      await call(gateway, "cron.add", {
        name: "report",
        schedule: { kind: "every", everyMs: 86_400_000 },
        message: "look",
      }),
    );
    const run = Object(await call(gateway, "cron.run", { id: job.id }));
    await world.told(/The scheduled task .* failed: auth: /, 1001);
    const { entries } = Object(await call(gateway, "cron.runs", { id: job.id }));
    expect(entries).toMatchObject([
      { status: "error", errorReason: "auth", runId: run.runId, deliveryStatus: "not-delivered" },
    ]);
    const why = await home.run(["why", run.runId]);
    expect(why.stdout).toContain("cron");
  });

  test("sends its record to a webhook that the config allows", async ({ world, expect }) => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      // Something else may still ask for what listened at this port before.
      if (request.url !== "/done") return void response.writeHead(404).end();
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        bodies.push(`${request.headers.authorization} ${body}`);
        response.end("ok");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = Object(server.address());
    const { gateway } = await world.start({
      cron: {
        webhookToken: "hook-token-123",
        webhookSsrfPolicy: { allowedHostnames: ["127.0.0.1", "a.localhost"], blockedHostnames: ["*.localhost"] },
      },
    });
    world.model.answer(() => ({ text: "all well" }));
    const add = (to: string) =>
      call(gateway, "cron.add", {
        schedule: { kind: "every", everyMs: 86_400_000 },
        message: "look",
        delivery: { mode: "webhook", to },
      });
    const job = Object(await add(`http://127.0.0.1:${port}/done`));
    await call(gateway, "cron.run", { id: job.id });
    await vi.waitFor(() => expect(bodies).toHaveLength(1), PATIENCE);
    expect(bodies[0]).toMatch(/^Bearer hook-token-123 /);
    expect(bodies[0]).toContain('"summary":"all well"');
    for (const host of ["localhost", "a.localhost"]) {
      const other = Object(await add(`http://${host}:${port}/done`));
      await call(gateway, "cron.run", { id: other.id });
      await vi.waitFor(async () => {
        const { entries } = Object(await call(gateway, "cron.runs", { id: other.id }));
        expect(entries).toMatchObject([{ status: "error", error: expect.stringContaining("cron.webhookSsrfPolicy") }]);
      }, PATIENCE);
    }
    server.close();
    expect(bodies).toHaveLength(1);
  });

  test("answers clients in the shapes of the published protocol", async ({ world, expect }) => {
    const { gateway } = await world.start(OWNED);
    world.model.answer(() => ({ text: "NO_REPLY" }));
    const job = Object(
      await call(gateway, "cron.add", { name: "x", schedule: { kind: "cron", expr: "0 9 * * *" }, message: "look" }),
    );
    expectShape("CronJob", job);
    expectShape(
      "CronJob",
      await call(gateway, "cron.update", {
        id: job.id,
        patch: { description: "y", payload: { model: "fake/fake-1" } },
      }),
    );
    expectShape("CronJob", await call(gateway, "cron.get", { jobId: job.id }));
    await call(gateway, "cron.update", { id: job.id, patch: { delivery: { mode: "none" }, payload: { model: null } } });
    await call(gateway, "cron.run", { id: job.id });
    await vi.waitFor(async () => {
      const { entries } = Object(await call(gateway, "cron.runs", { id: job.id }));
      expect(entries).toHaveLength(1);
      expectShape("CronRunLogEntry", entries[0]);
    }, PATIENCE);
    // The published schema is older than the clients that read `effectiveAgentId`.
    for (const { effectiveAgentId, ...one } of Object(await call(gateway, "cron.list")).jobs) {
      expect(effectiveAgentId).toBe("main");
      expectShape("CronJob", one);
    }
    await expect(call(gateway, "cron.get", { id: "none" })).rejects.toThrow("no scheduled job none");
    await expect(
      call(gateway, "cron.update", { id: job.id, patch: {}, expectedConfigRevision: "old" }),
    ).rejects.toThrow("changed");
    expect(await call(gateway, "cron.remove", { id: job.id })).toEqual({ ok: true, removed: true });
  });
});
