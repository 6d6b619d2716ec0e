import { describe } from "vitest";
import { outcomesOf } from "../kit/gateway/state-files.ts";
import { sharedTest } from "../kit/gateway/shared.ts";
import { test, type Peers } from "../kit/gateway/world.ts";

const withEdits = sharedTest({ places: 9, account: { streaming: { mode: "partial", nativeTransport: false } } });
const withDrafts = sharedTest({
  places: 5,
  account: { streaming: { mode: "partial" }, groupPolicy: "open", requireMention: false },
});

const words = (count: number, name = "word") =>
  Array.from({ length: count }, (_, index) => `${name}${index}`).join(" ");

/** So many of a chat's calls have shown an answer, however slow the machine is: its last word waits for that. */
const grown = (world: Peers, count: number) =>
  world.telegram.waitFor(
    () => world.telegram.sent.filter(({ ok, method }) => ok && method !== "sendChatAction").length >= count,
  );

describe.concurrent("an answer that grows", () => {
  withEdits("is previewed in one message that the final edits", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: words(30), everyMs: 90, until: grown(world, 2) }));
    world.telegram.say("slowly please");
    await world.told("word29");
    await outcomesOf(home, 1);
    const calls = world.telegram.sent.filter((call) => call.method !== "sendChatAction");
    expect(calls[0]?.method).toBe("sendMessage");
    expect(calls.slice(1).map((call) => call.method)).toEqual(calls.slice(1).map(() => "editMessageText"));
    expect(calls.length).toBeGreaterThan(2);
    expect(new Set(calls.map((call) => call.messageId)).size).toBe(1);
    expect(calls.at(-1)?.text).toBe(words(30));
    expect(world.telegram.shown(1001)).toEqual([words(30)]);
    expect(world.telegram.sent.some((call) => call.method === "sendChatAction")).toBe(true);
    for (const [index, call] of calls.slice(1).entries())
      expect(call.text.length).toBeGreaterThanOrEqual(calls[index]!.text.length);
  });

  withEdits("that becomes too long for one message continues in further ones", async ({ world, expect }) => {
    world.start();
    const text = Array.from({ length: 60 }, (_, index) => `Part ${index}: ${"long words ".repeat(9)}`).join("\n\n");
    world.model.answer(() => ({ text: `${text}\n\nThe end.`, everyMs: 2 }));
    world.telegram.say("much");
    await world.told("The end.");
    const shown = world.telegram.shown(1001);
    expect(shown.length).toBe(2);
    expect(shown.join(" ").match(/Part \d+:/g)).toEqual(Array.from({ length: 60 }, (_, index) => `Part ${index}:`));
  });

  test("comes in blocks when blocks are on", async ({ world, expect }) => {
    world.previews = true;
    const { home } = await world.start({
      agents: {
        defaults: {
          blockStreamingDefault: "on",
          blockStreamingBreak: "text_end",
          blockStreamingChunk: { minChars: 40, maxChars: 200, breakPreference: "paragraph" },
        },
      },
    });
    const paragraphs = ["First", "Second", "Third", "Fourth"].map((name) => `${name} paragraph ${words(12)}.`);
    world.model.answer(() => ({ text: paragraphs.join("\n\n"), everyMs: 10 }));
    world.telegram.say("in parts");
    await outcomesOf(home, 1);
    await world.told("Fourth");
    const shown = world.telegram.shown(1001);
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.join("\n\n").replace(/\s+/g, " ")).toBe(paragraphs.join(" ").replace(/\s+/g, " "));
    expect(world.telegram.sent.filter((call) => call.method === "editMessageText")).toEqual([]);
  });

  test("shows its joined blocks while the model is silent", async ({ world, expect }) => {
    world.previews = true;
    await world.start({
      agents: {
        defaults: {
          blockStreamingDefault: "on",
          blockStreamingChunk: { minChars: 20, maxChars: 400 },
          blockStreamingCoalesce: { minChars: 5000, maxChars: 6000, idleMs: 200 },
        },
      },
    });
    const shown = () => world.telegram.shown(1001).join("|");
    const until = world.telegram.waitFor(() => shown().includes("Second paragraph"));
    world.model.answer(() => ({
      text: "First paragraph here.\n\nSecond paragraph here.\n\nThe end.",
      everyMs: 5,
      until,
    }));
    world.telegram.say("wait in the middle");
    await until;
    expect(shown()).not.toContain("end.");
    await world.told("end.");
    expect(world.telegram.shown(1001)).toEqual(["First paragraph here.\n\nSecond paragraph here.", "The end."]);
  });

  test("comes whole when streaming is off", async ({ world, expect }) => {
    world.previews = true;
    await world.start({ channels: { telegram: { streaming: { mode: "off" } } } });
    world.model.answer(() => ({ text: words(20), everyMs: 90 }));
    world.telegram.say("whole please");
    await world.told("word19");
    const sends = world.telegram.sent.filter((call) => call.method !== "sendChatAction");
    expect(sends.map((call) => call.method)).toEqual(["sendMessage"]);
  });

  withEdits("a quick answer is one message", async ({ world, expect }) => {
    world.start();
    world.telegram.say("quick");
    await world.told("quick");
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });
});

describe.concurrent("a preview", () => {
  withEdits("before and after a tool is one message", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((call) =>
      call.isAfterTool
        ? { text: `Done: ${words(15)}`, everyMs: 90 }
        : { text: `Let me look: ${words(15, "early")}`, everyMs: 90, tool: "ls", args: {} },
    );
    world.telegram.say("look");
    await world.told("word14");
    await outcomesOf(home, 1);
    expect(world.telegram.shown(1001)).toEqual([`Let me look: ${words(15, "early")}\n\nDone: ${words(15)}`]);
  });

  withEdits("of an answer that is cut off is continued", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((_call, number) =>
      number === 1
        ? { text: words(30, "first"), everyMs: 80, stopAfter: 20, until: grown(world, 1) }
        : { text: words(10, "second"), everyMs: 10 },
    );
    world.telegram.say("go");
    await world.told("second9");
    await outcomesOf(home, 1);
    expect(world.telegram.shown(1001)).toEqual([`${words(20, "first")} ${words(10, "second")}`]);
  });

  withEdits("of an answer that fails for good keeps its words, and the notice follows", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer((_call, number) =>
      number === 1
        ? { text: words(30, "first"), everyMs: 80, stopAfter: 20, until: grown(world, 1) }
        : { status: 401, message: "no" },
    );
    world.telegram.say("go");
    await world.told("⚠️");
    expect((await outcomesOf(home, 1))[0]).toMatchObject({ kind: "failed" });
    await world.told("first19");
    expect(world.telegram.shown(1001)).toEqual([words(20, "first"), expect.stringContaining("⚠️")]);
  });

  withEdits("is not shown of a silent answer", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: `<think> ${words(20)} </think> NO_REPLY`, everyMs: 80 }));
    world.telegram.say("go");
    expect(await outcomesOf(home, 1)).toEqual([{ kind: "silent" }]);
    expect(world.telegram.shown(1001)).toEqual([]);
  });

  withEdits("that Telegram slows down still ends in the whole answer", async ({ world, expect }) => {
    const { home } = world.start();
    world.telegram.fail("editMessageText", "429", 2, 1);
    world.model.answer(() => ({ text: words(40), everyMs: 80 }));
    world.telegram.say("go");
    await outcomesOf(home, 1);
    await world.told("word39");
    await world.telegram.waitFor(() => world.telegram.shown(1001)[0] === words(40));
    expect(world.telegram.shown(1001)).toEqual([words(40)]);
  });

  withEdits("of a stopped answer stays as it was and nothing follows", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: words(200), everyMs: 60 }));
    world.telegram.say("go");
    await world.told("word5");
    world.telegram.say("/stop");
    await world.told("Stopped");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "aborted" }, { kind: "command", name: "stop" }]);
    const shown = world.telegram.shown(1001);
    expect(shown).toHaveLength(2);
    expect(words(200).startsWith(shown[0] ?? "?")).toBe(true);
  });
});

describe.concurrent("an answer that grows as a draft", () => {
  const answers = (world: Peers) => world.telegram.sent.filter((call) => call.method !== "sendChatAction");

  withDrafts("is sent once, when it is whole", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: words(30), everyMs: 90, until: grown(world, 2) }));
    world.telegram.say("slowly please");
    await world.told("word29");
    await outcomesOf(home, 1);
    const calls = answers(world);
    expect(calls.map(({ method }) => method)).toEqual([...calls.slice(1).map(() => "sendMessageDraft"), "sendMessage"]);
    expect(calls.length).toBeGreaterThan(2);
    expect(new Set(calls.slice(0, -1).map(({ body }) => body["draft_id"])).size).toBe(1);
    expect(world.telegram.shown(1001)).toEqual([words(30)]);
    expect(world.telegram.draft(1001)).toBeUndefined();
  });

  withDrafts("and is stopped stays as far as it was read", async ({ world, expect }) => {
    const { home } = world.start();
    world.model.answer(() => ({ text: words(200), everyMs: 60 }));
    world.telegram.say("go");
    const read = await world.telegram.waitFor(
      ({ method, text }) => method === "sendMessageDraft" && text.includes("word5"),
    );
    world.telegram.say("/stop");
    await world.told("Stopped");
    await world.told("word5");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "aborted" }, { kind: "command", name: "stop" }]);
    const kept = world.telegram.shown(1001).find((text) => text.includes("word5")) ?? "?";
    expect(words(200).startsWith(kept) && kept.startsWith(read.text)).toBe(true);
    expect(world.telegram.shown(1001)).toHaveLength(2);
  });

  withDrafts.for(["unknown", "refused"] as const)(
    "is a message where drafts are %s",
    async (how, { world, expect }) => {
      world.telegram.drafts = how;
      world.start();
      for (const [number, said] of ["first", "second"].entries()) {
        const begun = world.telegram.waitFor((call) => call.method === "sendMessage" && call.text.includes(said));
        world.model.answer(() => ({ text: words(30, said), everyMs: 60, until: begun }));
        world.telegram.say(said);
        await world.told(`${said}29`);
        expect(world.telegram.shown(1001)[number]).toBe(words(30, said));
      }
      expect(answers(world).filter(({ method }) => method === "sendMessageDraft")).toHaveLength(1);
      expect(answers(world).filter(({ method }) => method === "editMessageText").length).toBeGreaterThan(1);
    },
  );

  withDrafts("is a message in a group", async ({ world, expect }) => {
    world.start();
    world.model.answer(() => ({ text: words(30), everyMs: 60, until: grown(world, 1) }));
    world.telegram.say("go", { chat: { id: -1009, type: "supergroup", title: "Crew" } });
    await world.told("word29");
    const methods = new Set(answers(world).map(({ method }) => method));
    expect(methods).toEqual(new Set(["sendMessage", "editMessageText"]));
    expect(world.telegram.shown(-1009)).toEqual([words(30)]);
  });
});
