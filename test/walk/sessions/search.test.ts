import { describe } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";
import { expectShape } from "../../server/shapes.ts";

const OPEN = { commands: { ownerAllowFrom: ["1001"] }, tools: { sessions: { visibility: "all" } } };
const BOB = { from: { id: 2002, first_name: "Bob" }, chat: { id: 2002, type: "private" } };

describe.concurrent("messages of other sessions", () => {
  test("are found by words, by owners' runs and clients alone", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OPEN);
    world.model.answer((asked) => {
      if (asked.isAfterTool) return { text: `found: ${asked.toolText}` };
      return asked.said.includes("find")
        ? { tool: "sessions_search", args: { query: "marmalade recipe" } }
        : { text: "Noted." };
    });
    world.telegram.say("My recipe of marmalade needs four oranges", BOB);
    await world.told("Noted.", 2002);
    world.telegram.say("find it");
    const told = await world.told(/found: /, 1001);
    expect(told.text).toContain("four oranges");
    expect(told.text).toContain("telegram:default:2002");
    const hits = await call(gateway, "sessions.search", { query: "Oranges", sessionKeys: ["telegram:default:2002"] });
    expectShape("SessionsSearchResult", hits);
    expect(hits).toMatchObject({ results: [{ role: "user", sessionKey: "agent:main:telegram:default:2002" }] });
    expect(await call(gateway, "sessions.search", { query: "oranges", agentId: "nobody" })).toEqual({ results: [] });

    // A guest sees only what was said in the own session.
    world.telegram.say("the secret marmalade word is quince");
    await world.told("Noted.", 1001);
    world.telegram.say("find marmalade, please", BOB);
    const shown = await world.told(/found: /, 2002);
    expect(shown.text).toContain("four oranges");
    expect(shown.text).not.toContain("quince");
    await outcomesOf(home, 4);
  });
});
