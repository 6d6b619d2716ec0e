import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { type Home, PATIENCE } from "../kit/gateway/process.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { test, type World } from "../kit/gateway/world.ts";
import { isAlive } from "../kit/tools.ts";

const FREE = { commands: { ownerAllowFrom: ["1001"] }, tools: { exec: { security: "full", ask: "off" } } };
const server = (name = "server") => `echo $$ > ${name}.pid; echo listening; while :; do sleep 1; done`;
const ENDED = "a command that you started in the background has ended";

/** A model that does what people say, with the session of the last process, and answers with what the tool told it. */
function obey({ model }: World): void {
  let sessionId = "";
  model.answer((call) => {
    sessionId = /session ([0-9a-f]{8})/.exec(call.toolText)?.[1] ?? sessionId;
    if (call.isAfterTool) return { text: `told: ${call.toolText}` };
    if (call.said.includes(ENDED)) return { text: "I have heard that it ended." };
    const [, tool, args] = /(exec|process) (\{.*\})/.exec(call.said) ?? [];
    if (tool === undefined || args === undefined) return { text: "hm" };
    const given: Record<string, unknown> = JSON.parse(args);
    return { tool, args: tool === "process" ? { sessionId, ...given } : given };
  });
}

const say = (world: World, tool: "exec" | "process", args: object) =>
  world.telegram.say(`${tool} ${JSON.stringify(args)}`);

async function serverOf(home: Home, name = "server"): Promise<number> {
  const file = join(home.stateDir, "workspace", `${name}.pid`);
  await vi.waitUntil(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), PATIENCE);
  return Number.parseInt(readFileSync(file, "utf8"), 10);
}

describe.concurrent("a command in the background", () => {
  test("goes on after its turn, is polled and killed in later ones", async ({ world, expect }) => {
    const { home } = await world.start(FREE);
    obey(world);
    say(world, "exec", { command: server(), background: true });
    await world.told(/told: .*Still running in the background: session/s);
    const pid = await serverOf(home);
    say(world, "process", { action: "poll" });
    await world.told(/told: listening/);
    expect(isAlive(pid)).toBe(true);
    say(world, "process", { action: "kill" });
    await world.told(/told: It is ended/);
    await vi.waitUntil(() => !isAlive(pid), PATIENCE);
    say(world, "process", { action: "list" });
    await world.told(/told: .* killed /);
    say(world, "exec", { command: "test -t 1 && echo in a terminal", pty: true });
    await world.told(/told: in a terminal/);
    expect(await outcomesOf(home, 5)).toHaveLength(5);
  });

  test("wakes its conversation when it ends by itself", async ({ world, expect }) => {
    const { home } = await world.start(FREE);
    obey(world);
    say(world, "exec", {
      command: "until [ -e go ]; do sleep 0.1; done; echo the build is red; exit 7",
      background: true,
    });
    await world.told(/Still running in the background/);
    say(world, "exec", { command: "touch go" });
    await world.told("I have heard that it ended.");
    const woken = world.model.calls.find((call) => call.said.includes(ENDED));
    expect(woken?.said).toMatch(
      /System: \[.*\] The background command ".*" \(session [0-9a-f]{8}\) ended after \d+ seconds: \[exit code 7\]/,
    );
    expect(woken?.said).toContain("System: the build is red");
    for (const outcome of await outcomesOf(home, 3)) expect(outcome).toMatchObject({ kind: "replied" });
  });

  test("is what a long command becomes; its silent end and a silenced one wake nobody", async ({ world, expect }) => {
    const exec = { ...FREE.tools.exec, backgroundMs: 50, notifyOnExitEmptySuccess: false, notifyOnExit: true };
    const { home } = await world.start({ ...FREE, tools: { exec } });
    obey(world);
    say(world, "exec", { command: "until [ -e go ]; do sleep 0.1; done; touch gone" });
    await world.told(/Still running in the background/);
    say(world, "exec", { command: "touch go" });
    await vi.waitUntil(() => existsSync(join(home.stateDir, "workspace", "gone")), PATIENCE);
    say(world, "process", { action: "poll", timeout: 30_000 });
    await world.told(/\[no new output\]\n\n\[exit code 0\]/);
    expect(world.model.calls.some((call) => call.said.includes(ENDED))).toBe(false);
    expect(await outcomesOf(home, 3)).toHaveLength(3);
  });

  test("ends with the gateway, and at the next start if that was killed", async ({ world, expect }) => {
    const { home, gateway } = await world.start(FREE);
    obey(world);
    const start = async (name: string) => {
      say(world, "exec", { command: `(trap '' TERM; sleep 600) & ${server(name)}`, background: true });
      return serverOf(home, name);
    };
    const first = await start("first");
    await world.told(/Still running in the background/);
    expect(await gateway.kill("SIGTERM")).toBe(0);
    await vi.waitUntil(() => !isAlive(first), PATIENCE);

    const second = await home.start();
    world.telegram.say("hello");
    await world.told("hm");
    const left = await start("left");
    await outcomesOf(home, 3);
    await second.kill("SIGKILL");
    expect(isAlive(left)).toBe(true);
    const third = await home.start();
    await third.logged("commands of an earlier process ended");
    await vi.waitUntil(() => !isAlive(left), PATIENCE);
  });
});
