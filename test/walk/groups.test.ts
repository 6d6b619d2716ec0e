import { describe } from "vitest";
import type { Speaker } from "../fakes/telegram.ts";
import { SOON_MS } from "../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { test } from "../kit/gateway/world.ts";

const GROUP = -100_500;
const OTHER = -100_600;
const account = { groupPolicy: "allowlist", groups: { [String(GROUP)]: {} } };
const config = { channels: { telegram: account } };
const inOneGateway = sharedTest({ places: 5, account });

const inGroup = (id = 1001, name = "Ada", more: Record<string, unknown> = {}, chat = GROUP): Speaker => ({
  from: { id, first_name: name },
  chat: { id: chat, type: "supergroup", title: "Friends" },
  more,
});

describe.concurrent("a group", () => {
  inOneGateway("is kept without an answer, and comes with the next mention", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: "A fine idea." }));
    world.telegram.say("shall we eat pizza?", inGroup(1001, "Ada"));
    world.telegram.say("or ramen", inGroup(1002, "Bob"));
    expect(await outcomesOf(home, 2)).toEqual([
      { kind: "dropped", why: "not mentioned" },
      { kind: "dropped", why: "not mentioned" },
    ]);
    world.telegram.say("@test_bot what do you think?", inGroup(1001, "Ada"));
    const reply = await world.told("A fine idea.");
    expect(reply.chatId).toBe(String(GROUP));
    expect(world.model.calls).toHaveLength(1);
    const said = world.model.calls[0]?.said ?? "";
    expect(said).toContain("Chat history since last reply (untrusted, for context):");
    expect(said).toContain("shall we eat pizza?");
    expect(said).toContain("or ramen");
    expect(said.indexOf("pizza")).toBeLessThan(said.indexOf("or ramen"));
    expect(said.indexOf("or ramen")).toBeLessThan(said.indexOf("what do you think?"));
    expect(said).toContain('"Bob"');
    world.telegram.say("@test_bot and now?", inGroup());
    await world.model.called(2);
    expect(world.model.calls[1]?.said).not.toContain("pizza");
  });

  inOneGateway("is answered when somebody replies to the bot", async ({ world, expect }) => {
    world.start();
    const { self } = world.telegram;
    const original = {
      message_id: 50,
      date: 1,
      from: { id: self.id, is_bot: true, first_name: "Test Bot", username: self.username },
      chat: { id: GROUP, type: "supergroup", title: "Friends" },
      text: "I said this.",
    };
    world.telegram.say("why?", inGroup(1001, "Ada", { reply_to_message: original }));
    await world.told("why?", GROUP);
    expect(world.model.calls[0]?.said).toContain("Replied message (untrusted, for context):");
    expect(world.model.calls[0]?.said).toContain("I said this.");
  });

  inOneGateway("topic keeps its thread and has a session of its own", async ({ world, expect }) => {
    const { home } = world.start();
    const topic = { message_thread_id: 77, is_topic_message: true };
    world.telegram.say("@test_bot in the topic", inGroup(1001, "Ada", topic));
    const reply = await world.told("in the topic", GROUP);
    expect(Number(reply.body["message_thread_id"])).toBe(77);
    world.telegram.say("@test_bot in the main room", inGroup());
    const other = await world.told("in the main room", GROUP);
    expect(other.body["message_thread_id"]).toBeUndefined();
    await outcomesOf(home, 2);
    const keys = inboxOf(home).map((row) => row.session);
    expect(keys[0]).toMatch(/group:-100500:thread:77$/);
    expect(keys[1]).toMatch(/group:-100500$/);
  });

  inOneGateway("that is not listed is dropped, and the log says why", async ({ world, expect }) => {
    const { home, gateway } = world.start();
    world.telegram.say("@test_bot hello", inGroup(1001, "Ada", {}, OTHER));
    const line = await gateway.logged("dropped");
    expect(line).toMatchObject({ channel: "telegram", chat: String(OTHER), why: "the group is not in groups" });
    expect(line["session"]).toBe(`agent:${world.name}:telegram:${world.name}:group:${OTHER}`);
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "dropped" });
    expect(world.telegram.sent).toEqual([]);
    expect(world.model.calls).toEqual([]);
  });

  test("answers to a pattern as to its name", async ({ world, expect }) => {
    const { home } = await world.start({
      ...config,
      messages: { groupChat: { mentionPatterns: ["\\bhey claw\\b"] } },
    });
    world.telegram.say("nobody asked", inGroup());
    world.telegram.say("Hey Claw, are you there?", inGroup());
    await world.told("are you there?", GROUP);
    expect((await outcomesOf(home, 2)).map((outcome) => outcome?.["kind"])).toEqual(["dropped", "replied"]);
  });

  test("continues when a pattern searches without end, and the log says so once", async ({ world, expect }) => {
    const { gateway } = await world.start({ ...config, messages: { groupChat: { mentionPatterns: ["(a+)+$"] } } });
    const begun = performance.now();
    for (const end of ["!", "?"]) world.telegram.say(`${"a".repeat(60)}${end}`, inGroup());
    world.telegram.say("@test_bot are you there?", inGroup());
    await world.told("are you there?", GROUP);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
    expect(await gateway.logged((line) => line["pattern"] === "(a+)+$")).toMatchObject({ level: "warn" });
  });

  test("may be answered without a mention", async ({ world }) => {
    await world.start({
      channels: { telegram: { groupPolicy: "allowlist", groups: { [String(GROUP)]: { requireMention: false } } } },
    });
    world.telegram.say("anybody here?", inGroup());
    await world.told("anybody here?", GROUP);
  });

  test("answers only its listed senders", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      channels: { telegram: { groups: { [String(GROUP)]: { allowFrom: ["1001"] } } } },
    });
    world.telegram.say("@test_bot let me in", inGroup(2002, "Eve"));
    expect((await gateway.logged("dropped"))["why"]).toBe("the sender is not allowed in this group");
    world.telegram.say("@test_bot it is me", inGroup(1001, "Ada"));
    await world.told("it is me", GROUP);
    await outcomesOf(home, 2);
    expect(world.model.calls[0]?.said).not.toContain("let me in");
  });

  inOneGateway("two people's groups of one bot share one conversation per group", async ({ world, expect }) => {
    const { home } = world.start();
    world.telegram.say("@test_bot first", inGroup(1001, "Ada"));
    await world.told("first", GROUP);
    world.telegram.say("@test_bot second", inGroup(1002, "Bob"));
    await world.told("second", GROUP);
    await outcomesOf(home, 2);
    expect(new Set(inboxOf(home).map((row) => row.session)).size).toBe(1);
  });

  test("/activation of an owner decides which messages are answered, also after a kill; a guest's changes nothing", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start({ ...config, commands: { ownerAllowFrom: ["1001"] } });
    world.model.answer(() => ({ text: "Here I am." }));
    world.telegram.say("/activation@test_bot always", inGroup(1002, "Bob"));
    await world.told("Only an owner may use /activation");
    world.telegram.say("/activation always", inGroup(1001, "Ada"));
    await world.told("I see every message of this group");
    await gateway.kill("SIGKILL");
    await home.start();
    world.telegram.say("what a day", inGroup(1002, "Bob"));
    await world.told("Here I am.");
    expect(JSON.stringify(world.model.calls[0]?.messages)).toContain("In this group you get every message");
    world.telegram.say("/activation mention", inGroup(1001, "Ada"));
    await world.told("I see what is said to me here");
    world.telegram.say("nice", inGroup(1002, "Bob"));
    expect((await outcomesOf(home, 5)).at(-1)).toEqual({ kind: "dropped", why: "not mentioned" });
  });
});
