import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { wireKey } from "../../../src/sessions/keys.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { outcomesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";

const BOB = { from: { id: 2002, first_name: "Bob" }, chat: { id: 2002, type: "private" } };
/** Every session is old at once. */
const OLD = { mode: "enforce", pruneAfter: "1ms" };

describe("upkeep of sessions beside a running gateway", () => {
  test("puts a conversation away until its person writes, and spares a pinned one", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ session: { maintenance: OLD } });
    world.model.answer((asked) => ({ text: `You have said: ${asked.said}` }));
    world.telegram.say("first", BOB);
    world.telegram.say("mine");
    await outcomesOf(home, 2);
    const key = "telegram:default:2002";
    await call(gateway, "sessions.patch", { key: "telegram:default:1001", pinned: true });
    const { code, stdout } = await home.run(["sessions", "cleanup", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ mode: "enforce", applied: true, archived: 1, skipped: 0 });
    expect(code).toBe(0);
    const list = async (archived: boolean) =>
      JSON.parse(JSON.stringify(await call(gateway, "sessions.list", { archived }))).sessions;
    expect(await list(true)).toMatchObject([{ key: `agent:main:${key}` }]);
    expect(await list(false)).toMatchObject([{ pinned: true }]);
    await gateway.logged((line) => line["msg"] === "session put into the archive" && line["session"] === wireKey(key));

    world.telegram.say("second", BOB);
    await outcomesOf(home, 3);
    expect(await list(true)).toEqual([]);
    expect(JSON.stringify(world.model.calls.at(-1)?.body)).toContain("first");
  });

  test("imports, names and deletes a conversation", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer(() => ({ text: "I remember." }));
    const file = join(home.dir, "theirs.jsonl");
    const message = { role: "user", content: "the word is quince", timestamp: 1 };
    writeFileSync(file, `${JSON.stringify({ type: "message", id: "a", parentId: null, message })}\n`);
    const key = "telegram:default:1001";
    const imported = await home.run(["sessions", "import", file, "--key", key, "--json"]);
    expect(JSON.parse(imported.stdout)).toMatchObject({ ok: true, messages: 1 });
    expect((await home.run(["sessions", "import", file, "--key", key])).stderr).toContain("The session has messages");
    world.telegram.say("What was the word?");
    await world.told("I remember.", 1001);
    expect(JSON.stringify(world.model.calls.at(-1)?.body)).toContain("the word is quince");

    await home.run(["sessions", "rename", key, "Quince"]);
    expect((await home.run(["sessions"])).stdout).toContain("Quince");
    await outcomesOf(home, 1);
    const removed = await home.run(["sessions", "delete", key, "a:b:c", "--yes", "--json"]);
    expect(JSON.parse(removed.stdout)).toMatchObject({
      ok: false,
      results: [{ status: "deleted" }, { status: "not_found" }],
    });
    expect(removed.code).toBe(1);
    expect(Object.keys(sessionsOf(home))).toEqual([]);
    const kept = readdirSync(join(home.stateDir, "sessions")).filter((name) => name.includes(".jsonl"));
    expect(kept).toEqual([expect.stringContaining(".jsonl.deleted.")]);
  });
});
