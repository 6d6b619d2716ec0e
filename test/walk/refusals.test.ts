import { describe } from "vitest";
import type { ModelCall } from "../fakes/model.ts";
import { sessionsOf, transcriptOf } from "../kit/gateway/state-files.ts";
import type { Home } from "../kit/gateway/process.ts";
import { test, type World } from "../kit/gateway/world.ts";

const WINDOW = 100_000;
const SEEING = (world: World) => ({
  models: {
    providers: {
      fake: {
        baseUrl: world.model.url,
        apiKey: "x",
        api: "openai-completions",
        models: [{ id: "fake-1", contextWindow: WINDOW, maxTokens: 4096, input: ["text", "image"] }],
      },
    },
  },
});
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const LONG = "word ".repeat(2200);
const html = "<html><head><title>413 Request Entity Too Large</title></head><body>nginx</body></html>";

/** A conversation that fills a third of the window. */
async function talk(world: World): Promise<void> {
  for (let turn = 1; turn <= 6; turn += 1) {
    world.telegram.say(`turn-${turn} ${LONG}`, { from: { id: 1001, first_name: "Ada" } });
    await world.told(`ok turn-${turn}`, 1001);
  }
}

const windowOf = (home: Home, chat: number) =>
  Object.entries(sessionsOf(home)).find(([key]) => key.endsWith(`:${chat}`))?.[1]["contextTokens"];
const isOfBob = (call: ModelCall) => JSON.stringify(call.messages).includes("words of Bob");
const shown = (call: ModelCall | undefined) => JSON.stringify(call?.messages);

const REFUSALS = [
  [
    "names the window",
    {
      status: 400,
      message: "This model's maximum context length is 100000 tokens. However, your messages resulted in 109955 tokens",
    },
    "no longer fits the model|too long for the model",
  ],
  ["names no figure", { status: 400, message: "Input is too long for requested model." }, "too long for the model"],
  [
    "is a proxy's",
    { raw: { status: 413, headers: { "content-type": "text/html" }, body: html } },
    "The request of \\d.* is too large: the model's provider, or a proxy before it",
  ],
] as const;

describe("a message that the model's provider refuses as too long", () => {
  test.for(REFUSALS)(
    "and whose refusal %s changes nothing in another chat",
    async ([, refusal, notice], { world, expect }) => {
      world.model.answer((call) => (isOfBob(call) ? refusal : { text: `ok ${/turn-\d|after/.exec(call.said)?.[0]}` }));
      const { home } = await world.start(SEEING(world));
      await talk(world);
      const before = transcriptOf(home, ":1001");
      world.telegram.say(`words of Bob ${"many ".repeat(300)}`, { from: { id: 2002, first_name: "Bob" } });
      await world.told(new RegExp(notice), 2002);
      const calls = world.model.calls.length;
      world.telegram.say("after", { from: { id: 1001, first_name: "Ada" } });
      await world.told("ok after", 1001);
      expect(world.model.calls.length - calls).toBe(1);
      const last = shown(world.model.calls.at(-1));
      for (let turn = 1; turn <= 6; turn += 1) expect(last).toContain(`turn-${turn} `);
      const after = transcriptOf(home, ":1001");
      expect(after.slice(0, before.length)).toEqual(before);
      expect(after.filter(({ type }) => type === "compaction")).toEqual([]);
      expect(windowOf(home, 1001)).toBe(WINDOW);
    },
  );

  test("because of a photo is answered without it", async ({ world, expect }) => {
    world.telegram.file("large", PNG);
    world.model.answer((call) =>
      call.images.length > 0
        ? { raw: { status: 413, headers: { "content-type": "text/html" }, body: html } }
        : { text: `no photo: ${call.said}` },
    );
    await world.start(SEEING(world));
    world.telegram.say("", {
      more: {
        photo: [{ file_id: "large", file_unique_id: "l", width: 10, height: 10, file_size: PNG.length }],
        caption: "what is on it?",
        text: undefined,
      },
    });
    expect((await world.told("no photo:")).text).toContain("what is on it?");
    const told = await world.told("Answered without the image");
    expect(told.text).toMatch(/a proxy before it, refuses a request of so many bytes \(it had \d+\.\d kB\)/);
    expect(world.model.calls).toHaveLength(2);
  });
});

describe("a model whose server leaves the connection open", () => {
  test("is asked once, and the chat gets one answer", async ({ world, expect }) => {
    world.model.answer(() => ({ text: "The full answer.", ending: "open" }));
    await world.start();
    world.telegram.say("hello");
    await world.told("The full answer.");
    world.telegram.say("again");
    await world.telegram.waitFor(() => world.telegram.shown(1001).length > 1);
    expect(world.telegram.shown(1001)).toEqual(["The full answer.", "The full answer."]);
    expect(world.model.calls).toHaveLength(2);
  });
});
