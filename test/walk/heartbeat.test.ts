import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, vi } from "vitest";
import { type Home, PATIENCE } from "../kit/gateway/process.ts";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { test } from "../kit/gateway/world.ts";

const NEWS = "The mail server is full.";
/** Its own time does not come within a test. */
const OWNED = { commands: { ownerAllowFrom: ["1001"] }, agents: { defaults: { heartbeat: { every: "7d" } } } };
const isBeat = (said: string) => said.includes("This is a heartbeat");

const ask = (home: Home, text: string) => writeFile(join(home.stateDir, "workspace", "HEARTBEAT.md"), text);

const sentOf = (home: Home) => {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return journal.prepare("SELECT state FROM outbox ORDER BY id").all();
  } finally {
    journal.close();
  }
};

describe.concurrent("a heartbeat", () => {
  test("sends the owner what it found, and shows the outcome on the command line", async ({ world, expect }) => {
    const { home } = await world.start(OWNED);
    world.model.answer((call) => ({ text: isBeat(call.said) ? NEWS : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    world.telegram.say("hello", { from: { id: 2002 } });
    await outcomesOf(home, 2);
    await ask(home, "- is the mail server well?");
    const woken = await home.run(["system", "heartbeat", "now", "--json"]);
    expect(woken.code).toBe(0);
    const inbox = String(JSON.parse(woken.stdout).agents[0].inbox);
    await world.told(NEWS, 1001);
    expect(world.telegram.shown(1001)).toEqual(["hi", NEWS]);
    expect(world.telegram.shown(2002)).not.toContain(NEWS);
    expect((await outcomesOf(home, 3)).at(-1)).toEqual({ kind: "replied" });
    const call = world.model.calls.at(-1);
    // Of the workspace it sees its list alone.
    expect(call?.system).toContain("is the mail server well?");
    expect(call?.system).not.toContain("SOUL.md");
    expect((await home.run(["system", "heartbeat"])).stdout).toMatch(/main +7 d .* it had something to say/);
    const why = await home.run(["why", `#${inbox}`]);
    expect(why.stdout).toContain("the gateway itself woke the agent");
    expect(sentOf(home).every((row) => row["state"] === "sent")).toBe(true);
    world.telegram.say("what about it?");
    await outcomesOf(home, 4);
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain(NEWS);
  });

  test("says nothing when nothing needs attention, and nobody pays for an empty list", async ({ world, expect }) => {
    const { home } = await world.start(OWNED);
    world.model.answer((call) => ({ text: isBeat(call.said) ? "HEARTBEAT_OK" : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    expect((await home.run(["system", "heartbeat", "now"])).code).toBe(0);
    expect((await outcomesOf(home, 2)).at(-1)).toEqual({ kind: "silent" });
    expect((await home.run(["system", "heartbeat", "last"])).stdout).toContain("nothing needed attention");
    expect(world.telegram.shown(1001)).toEqual(["hi"]);
    expect((await home.run(["system", "heartbeat", "disable"])).stdout).toContain("switched off");
    const told = await home.run(["system", "event", "--text", "the backup is done"]);
    expect(told.stdout).toContain("next turn");
    world.telegram.say("anything new?");
    await outcomesOf(home, 3);
    expect(world.model.calls.at(-1)?.said).toMatch(/System: \[.*\] the backup is done/);
  });

  test("killed on its way out it is said once, or says that it may be there twice", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNED);
    world.model.answer((call) => ({ text: isBeat(call.said) ? NEWS : "hi" }));
    world.telegram.say("hello");
    await world.told("hi");
    await ask(home, "- is the mail server well?");
    world.telegram.fail("sendMessage", "lost", 1, 1);
    await home.run(["system", "heartbeat", "now"]);
    await vi.waitFor(() => expect(world.telegram.shown(1001)).toContain(NEWS), PATIENCE);
    await gateway.kill("SIGKILL");
    await home.start();
    await vi.waitFor(() => expect(sentOf(home).every((row) => row["state"] === "sent")).toBe(true), PATIENCE);
    expect((await outcomesOf(home, 2)).at(-1)).toEqual({ kind: "replied" });
    const [, ...news] = world.telegram.shown(1001);
    expect(news.filter((text) => text === NEWS)).toHaveLength(1);
    expect(news.every((text) => text === NEWS || text.includes("(possible repeat)"))).toBe(true);
  });
});
