import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { type GatewayUnderTest, type Home, PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { expectShape } from "../../server/shapes.ts";

const FREE = { commands: { ownerAllowFrom: ["1001"] }, tools: { exec: { security: "full", ask: "off" } } };
const UNTIL_GO = "echo begun >> begun.txt; until [ -e go ]; do sleep 0.05; done; echo the build is red; exit 4";

const inWorkspace = (home: Home, name: string): string => join(home.stateDir, "workspace", name);
const lines = (path: string): number => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").length : 0);

function reporting({ model }: World): void {
  model.answer((asked) => ({ text: asked.said.includes("[cron:") ? "I have looked at it." : "hi" }));
}

/** The owner has a direct chat. */
async function acquaint(world: World): Promise<void> {
  reporting(world);
  world.telegram.say("hello");
  await world.told("hi");
}

const jobCalls = ({ model }: World) => model.calls.filter(({ said }) => said.includes("[cron:"));

async function add(gateway: GatewayUnderTest, schedule: object, more: object = {}): Promise<string> {
  const job = Object(await call(gateway, "cron.add", { schedule, message: "Look at it.", ...more }));
  expectShape("CronJob", await call(gateway, "cron.get", { id: job.id }));
  return job.id;
}

describe.concurrent("a job that watches a command", () => {
  test("begins once when the command ends, with how it ended as untrusted content", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    await acquaint(world);
    const added = await home.run(["cron", "add", "--on-exit", UNTIL_GO, "--message", "Look at it.", "--name", "build"]);
    expect(added.stdout).toMatch(/when +when this ends: echo begun[\s\S]*next +when it happens/);
    const [, id = ""] = /id +(\S+)/.exec(added.stdout) ?? [];
    await vi.waitUntil(() => lines(inWorkspace(home, "begun.txt")) === 1, PATIENCE);
    expect(jobCalls(world)).toHaveLength(0);
    writeFileSync(inWorkspace(home, "go"), "");
    await world.told("I have looked at it.", 1001);
    const [asked] = jobCalls(world);
    expect(asked?.said).toMatch(
      /Look at it\.[\s\S]*EXTERNAL_UNTRUSTED_CONTENT[\s\S]*exit code 4[\s\S]*the build is red/,
    );
    await vi.waitFor(
      async () => expect(await call(gateway, "cron.get", { id })).toMatchObject({ enabled: false }),
      PATIENCE,
    );
    await gateway.kill();
    const again = await home.start();
    expect(await call(again, "cron.runs", { id })).toMatchObject({ entries: [{ status: "ok" }] });
    expect(lines(inWorkspace(home, "begun.txt"))).toBe(1);
  });

  test("starts the command again after a kill, and begins once", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    reporting(world);
    await add(gateway, { kind: "on-exit", command: UNTIL_GO }, { delivery: { mode: "none" } });
    await vi.waitUntil(() => lines(inWorkspace(home, "begun.txt")) === 1, PATIENCE);
    await gateway.kill("SIGKILL");
    const again = await home.start();
    await vi.waitUntil(() => lines(inWorkspace(home, "begun.txt")) === 2, PATIENCE);
    writeFileSync(inWorkspace(home, "go"), "");
    await vi.waitFor(async () => expect(Object(await call(again, "cron.runs", {})).entries).toHaveLength(1), PATIENCE);
    expect(jobCalls(world)).toHaveLength(1);
  });

  test("begins for lines that fit, and ends the command when it is switched off", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    await acquaint(world);
    const log = inWorkspace(home, "log.txt");
    const pid = inWorkspace(home, "pid.txt");
    writeFileSync(log, "");
    const command = ["sh", "-c", "echo $$ > pid.txt; exec tail -n +1 -f log.txt"];
    const id = await add(gateway, { kind: "stream", command, mode: "match", match: "^bad:" });
    await vi.waitUntil(() => existsSync(pid), PATIENCE);
    appendFileSync(log, "good: one\nbad: two\ngood: three\nbad: four\n");
    await world.told("I have looked at it.", 1001);
    expect(jobCalls(world)[0]?.said).toContain("bad: two\nbad: four");
    expect(jobCalls(world)[0]?.said).not.toContain("good:");
    const number = Number.parseInt(readFileSync(pid, "utf8"), 10);
    expect((await home.run(["cron", "disable", id])).code).toBe(0);
    await vi.waitUntil(() => !existsSync(`/proc/${number}`), PATIENCE);
  });

  test("is refused where its command may not run, and to agents", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      commands: { ownerAllowFrom: ["1001"] },
      agents: { defaults: { sandbox: { mode: "off" } } },
      cron: { failureAlert: { after: 1 } },
    });
    await acquaint(world);
    const id = await add(gateway, { kind: "on-exit", command: "id -u" }, { name: "watch" });
    await world.told(/watch.* failed[\s\S]*allowlist add/, 1001);
    await vi.waitFor(
      async () => expect(await call(gateway, "cron.get", { id })).toMatchObject({ enabled: false }),
      PATIENCE,
    );
    expect((await home.run(["cron", "list", "--all"])).stdout).toContain("when this ends: id -u");
    const answers: string[] = [];
    world.model.answer((asked) => {
      if (asked.isAfterTool) answers.push(asked.toolText);
      const job = { schedule: { kind: "on-exit", command: "id" }, payload: { kind: "agentTurn", message: "x" } };
      return answers.length === 0 ? { tool: "cron", args: { action: "add", job } } : { text: "done" };
    });
    world.telegram.say("watch it");
    await world.told("done");
    expect(answers).toEqual([expect.stringContaining("only the operator")]);
    for (const [schedule, why] of [
      [{ kind: "stream", command: [] }, "chedule.command"],
      [{ kind: "stream", command: ["id"], mode: "match" }, "regular expression"],
      [{ kind: "stream", command: ["id"], mode: "match", match: "(" }, "regular expression"],
      [{ kind: "on-exit", command: " " }, "chedule.command"],
    ] as const)
      await expect(call(gateway, "cron.add", { schedule, message: "x" })).rejects.toThrow(why);
  });
});
