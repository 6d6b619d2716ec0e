import { describe } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { inboxOf, outcomesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";

const GROUP = { chat: { id: -1009, type: "supergroup", title: "Crew" } };

describe("direct chats that are joined", () => {
  test("are one conversation with the operator's own chat", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ session: { dmScope: "main" } });
    world.model.answer(() => ({ text: "noted" }));
    world.telegram.say("the code word is tide");
    await world.told("noted");
    const params = { sessionKey: "main", message: "which word?", idempotencyKey: "joined" };
    await call(gateway, "chat.send", params);
    await call(gateway, "agent.wait", { runId: "joined", timeoutMs: 20_000 });
    expect(JSON.stringify(world.model.calls.at(-1)?.body)).toContain("the code word is tide");
    expect(Object.keys(sessionsOf(home))).toHaveLength(1);
    const { sessions } = (await call(gateway, "sessions.list")) as { sessions: unknown };
    expect(sessions).toMatchObject([{ key: "agent:main:main", isMain: true, lastTo: "telegram:1001" }]);
    expect(world.telegram.shown(1001)).toEqual(["noted"]);
  });
});

describe("what sessions.patch sets", () => {
  test("has its effect in the chat from the next message on, until it is removed", async ({ world, expect }) => {
    const { home, gateway } = await world.start({ commands: { ownerAllowFrom: ["1001"] } });
    world.model.answer((asked) =>
      asked.isAfterTool ? { thinking: "so that is it", text: "two files" } : { tool: "ls", args: { path: "." } },
    );
    let said = 0;
    const shownFor = async (text: string, count: number) => {
      const before = world.telegram.shown(1001).length;
      world.telegram.say(text);
      said += 1;
      await outcomesOf(home, said);
      await world.telegram.waitFor(() => world.telegram.shown(1001).length >= before + count);
      return world.telegram.shown(1001).slice(before);
    };
    expect(await shownFor("one", 1)).toEqual(["two files"]);
    const [key = ""] = Object.keys(sessionsOf(home));
    await call(gateway, "sessions.patch", { key, verboseLevel: "full", reasoningLevel: "on", responseUsage: "full" });
    expect((await shownFor("two", 5)).map((text) => /^(?:🛠️ ls|↳ ls|💭|two files|Usage: )/u.exec(text)?.[0])).toEqual([
      "🛠️ ls",
      "↳ ls",
      "💭",
      "two files",
      "Usage: ",
    ]);
    await call(gateway, "sessions.patch", { key, verboseLevel: null, reasoningLevel: null, responseUsage: null });
    expect(await shownFor("three", 1)).toEqual(["two files"]);
    await call(gateway, "sessions.patch", { key, sendPolicy: "deny" });
    expect(await shownFor("four", 0)).toEqual([]);
    expect(inboxOf(home).at(-1)?.outcome).toMatchObject({ kind: "dropped" });
    await call(gateway, "sessions.patch", { key, sendPolicy: null });
    expect(await shownFor("five", 1)).toEqual(["two files"]);
  });

  test("makes a group's messages the agent's, also those that do not name it", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      channels: { telegram: { groups: { "*": {} }, groupPolicy: "open" } },
    });
    world.model.answer(() => ({ text: "I read that" }));
    world.telegram.say("hello @test_bot", GROUP);
    await world.told("I read that", -1009);
    world.telegram.say("not for you", GROUP);
    await outcomesOf(home, 2);
    expect(world.model.calls).toHaveLength(1);
    const [key = ""] = Object.keys(sessionsOf(home));
    await call(gateway, "sessions.patch", { key, groupActivation: "always" });
    world.telegram.say("nor this, I think", GROUP);
    await world.telegram.waitFor(() => world.telegram.shown(-1009).length === 2);
    expect((await outcomesOf(home, 3)).at(-1)).toMatchObject({ kind: "replied" });
  });
});
