import { describe, vi } from "vitest";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { expectShape } from "../../server/shapes.ts";

const OWNER = { commands: { ownerAllowFrom: ["1001"] }, agents: { defaults: { sandbox: { mode: "off" } } } };

interface Task {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly title: string;
  readonly prompt?: string;
  readonly result?: string;
}

const isChild = ({ system }: ModelCall): boolean => system.includes("# Subagent Context");

function play({ model }: World, child: (asked: ModelCall) => ModelReply | Promise<ModelReply>): void {
  model.answer((asked) => {
    if (isChild(asked)) return child(asked);
    if (asked.isAfterTool) return { text: "started" };
    return asked.said.includes("begin")
      ? { tool: "sessions_spawn", args: { task: "count the sheep", label: "sheep" } }
      : { text: "ok" };
  });
}

describe.concurrent("the ledger of tasks", () => {
  test("has subagents and runs of jobs, with what they were asked and answered, also without a gateway", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start(OWNER);
    play(world, () => ({ text: "There are 42 sheep." }));
    expect((await home.run(["tasks"])).stdout).toBe("No tasks.\n");
    expect((await home.run(["tasks", "list", "--status", "failed"])).stdout).toBe("No task fits these flags.\n");
    const jsonOf = async (...args: readonly string[]) => {
      const done = await home.run(["tasks", ...args, "--json"]);
      expect(done.code, done.stderr).toBe(0);
      return JSON.parse(done.stdout) as { tasks: Task[]; findings: unknown[] } & Task;
    };
    expect(await jsonOf("list")).toMatchObject({ tasks: [] });
    world.telegram.say("begin");
    await world.told("started");
    const job = ["cron", "add", "--name", "morning", "--every", "1d", "--message", "say good morning", "--json"];
    const added = await home.run(job);
    expect(added.code, added.stderr).toBe(0);
    const { id: jobId } = JSON.parse(added.stdout) as { id: string };
    expect((await home.run(["cron", "run", jobId, "--force", "--wait"])).code).toBe(0);
    await vi.waitUntil(async () => {
      const { tasks } = await jsonOf("list", "--status", "completed");
      return tasks.length === 2;
    }, PATIENCE);
    const { tasks } = await jsonOf("list");
    expect(tasks.map(({ kind, title }) => [kind, title])).toEqual([
      ["cron", "morning"],
      ["subagent", "sheep"],
    ]);
    const list = await call(gateway, "tasks.list", {});
    expectShape("TasksListResult", list);
    const of = { taskId: tasks[1]?.id };
    const got = (await call(gateway, "tasks.get", of)) as { task: Task };
    expectShape("TasksGetResult", got);
    expect(got.task).toMatchObject({
      prompt: "count the sheep",
      result: "There are 42 sheep.",
      sessionKey: "agent:main:telegram:default:1001",
    });
    await gateway.kill();
    const { tasks: left } = await jsonOf("list", "--session", "telegram:default:1001");
    expect(left.map(({ kind, status }) => [kind, status])).toEqual([["subagent", "completed"]]);
    expect(await jsonOf("show", left[0]?.id ?? "")).toMatchObject({ prompt: "count the sheep" });
    expect((await home.run(["tasks", "cancel", left[0]?.id ?? ""])).code).toBe(1);
  });

  test("ends a subagent that works, and says which ones a person should look at", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNER);
    play(world, () => "hang");
    world.telegram.say("begin");
    await world.told("started");
    await vi.waitUntil(() => world.model.calls.some(isChild), PATIENCE);
    world.telegram.say("/tasks");
    const shown = await world.told(/task-\d+/);
    const id = /task-\d+/.exec(shown.text)?.[0] ?? "";
    expect(shown.text).toContain("running: sheep (subagent)");
    world.telegram.say("/tasks", { from: { id: 2002, first_name: "Bob" }, chat: { id: 2002, type: "private" } });
    await world.told("There are no tasks here.", 2002);
    const cancelled = await call(gateway, "tasks.cancel", { taskId: id });
    expectShape("TasksCancelResult", cancelled);
    expect(cancelled).toMatchObject({ found: true, cancelled: true, task: { id, status: "cancelled" } });
    expect(await call(gateway, "tasks.cancel", { taskId: id })).toMatchObject({ cancelled: false });
    expect(await call(gateway, "tasks.cancel", { taskId: "task-99999" })).toMatchObject({ found: false });
    expect((await home.run(["tasks", "cancel", id])).code).toBe(1);
    expect((await home.run(["tasks", "show", "nothing"])).code).toBe(1);
    const audit = await home.run(["tasks", "audit"]);
    expect(audit.code, audit.stdout).toBe(0);
  });

  test("has commands in the background until they end, and cancels them", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNER);
    world.model.answer((asked) =>
      asked.isAfterTool ? { text: "it runs" } : { tool: "exec", args: { command: "sleep 300", background: true } },
    );
    world.telegram.say("sleep");
    const asked = await world.told("/approve");
    world.telegram.say(`/approve ${/\/approve (\w+)/.exec(asked.text)?.[1]} once`);
    await world.told("it runs");
    await outcomesOf(home, 1);
    const { tasks } = (await call(gateway, "tasks.list", { status: "running" })) as { tasks: Task[] };
    expect(tasks).toMatchObject([{ kind: "exec", title: "sleep 300", sessionKey: "agent:main:telegram:default:1001" }]);
    expectShape("TasksListResult", { tasks });
    expect(await call(gateway, "tasks.cancel", { taskId: tasks[0]?.id })).toMatchObject({
      cancelled: true,
      task: { status: "cancelled" },
    });
  });
});
