import { describe } from "vitest";
import { outcomesOf, test } from "./scene.ts";

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");

describe.concurrent("an answer that grows", () => {
  test("is previewed in one message that the final edits", async ({ world, expect }) => {
    const { home } = await world.start();
    world.model.answer(() => ({ text: words(30), everyMs: 90 }));
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

  test("that becomes too long for one message goes on in further ones", async ({ world, expect }) => {
    await world.start();
    const text = Array.from({ length: 60 }, (_, index) => `Part ${index}: ${"long words ".repeat(9)}`).join("\n\n");
    world.model.answer(() => ({ text: `${text}\n\nThe end.`, everyMs: 2 }));
    world.telegram.say("much");
    await world.told("The end.");
    const shown = world.telegram.shown(1001);
    expect(shown.length).toBe(2);
    expect(shown.join(" ").match(/Part \d+:/g)).toEqual(Array.from({ length: 60 }, (_, index) => `Part ${index}:`));
  });

  test("comes in blocks when blocks are on", async ({ world, expect }) => {
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

  test("comes whole when streaming is off", async ({ world, expect }) => {
    await world.start({ channels: { telegram: { streaming: { mode: "off" } } } });
    world.model.answer(() => ({ text: words(20), everyMs: 90 }));
    world.telegram.say("whole please");
    await world.told("word19");
    const sends = world.telegram.sent.filter((call) => call.method !== "sendChatAction");
    expect(sends.map((call) => call.method)).toEqual(["sendMessage"]);
  });

  test("a quick answer has no preview", async ({ world, expect }) => {
    await world.start();
    world.telegram.say("quick");
    await world.told("quick");
    expect(world.telegram.sent.filter((call) => call.method === "editMessageText")).toEqual([]);
  });
});
