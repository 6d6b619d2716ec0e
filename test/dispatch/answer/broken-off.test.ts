import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { completionsVoice } from "../../fakes/model-voices.ts";
import { MODEL, SPARE } from "../../kit/models.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

/** A second before the model is asked again takes no time; what bounds a run stays as long as it is. */
const clock = {
  now: () => Date.now(),
  after(ms: number, call: () => void) {
    const timer = setTimeout(call, ms > 5000 ? ms : ms / 100);
    return () => clearTimeout(timer);
  },
};

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  boot = await fixture.boot({ clock });
});
afterEach(() => fixture.close());

const paragraphs = ["alpha ", "beta ", "gamma "].map((word) => word.repeat(12).trim());
const [alpha = "", beta = "", gamma = ""] = paragraphs;

/** Two blocks and the beginning of a third; then the provider tells in the stream that it cannot go on. */
function brokenBy(type: string, message: string) {
  const voice = completionsVoice("fake-1");
  const said = `${voice.begin()}${voice.word(`${alpha}\n\n`)}${voice.word(`${beta}\n\n${gamma.slice(0, 8)}`)}`;
  const body = `${said}data: ${JSON.stringify({ error: { type, message } })}\n\n`;
  return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
}

describe("a chat that reads an answer in blocks", () => {
  it.each([
    ["rate_limit_exceeded", "Rate limit reached for requests"],
    ["insufficient_quota", "You exceeded your current quota"],
    ["invalid_api_key", "Incorrect API key provided"],
    ["server_error", "The server is overloaded"],
    ["invalid_request_error", "Invalid request: provider returned error"],
    ["context_length_exceeded", "This model's maximum context length is 128000 tokens"],
  ])("reads each word once when its stream ends with %s", async (type, message) => {
    const chunk = { minChars: 40, maxChars: 80, breakPreference: "paragraph" } as const;
    fixture.rules = {
      agent: { streaming: { blocks: true, breakAt: "text_end", chunk }, model: { primary: MODEL, fallbacks: [SPARE] } },
      chat: () => ({ replyToMode: "off" }),
    };
    fixture.model.answer((_, number) => (number === 1 ? brokenBy(type, message) : { text: gamma.slice(8) }));
    await boot.ask("hello");
    expect(fixture.platform.texts.filter((text) => !text.startsWith("↪️"))).toEqual(paragraphs);
  });
});

describe.each(["off", "partial", "block"] as const)("the rest of an answer (%s)", (streaming) => {
  beforeEach(() => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming }) };
  });

  it.each(["NO_REPLY", " **NO_REPLY**.", "no_reply\n"])(
    "adds nothing when it is only %j, in the chat or in what is kept",
    async (rest) => {
      fixture.model.answer((_, number) => (number === 1 ? brokenBy("server_error", "overloaded") : { text: rest }));
      await boot.ask("hello");
      const whole = `${alpha}\n\n${beta}\n\n${gamma.slice(0, 8)}`;
      expect(fixture.platform.texts.join("\n\n")).toBe(whole);
      await boot.ask("/history");
      expect(fixture.platform.texts.at(-1)).toContain(gamma.slice(0, 8));
      expect(JSON.stringify(fixture.platform.calls).toLowerCase()).not.toContain("no_reply");
    },
  );

  it("is shown when it only begins like that", async () => {
    fixture.model.answer((_, number) =>
      number === 1 ? brokenBy("server_error", "overloaded") : { text: `${gamma.slice(8)} NO_REPLY_ADDRESS` },
    );
    await boot.ask("hello");
    expect(fixture.platform.texts.join("\n\n")).toBe(`${alpha}\n\n${beta}\n\n${gamma} NO_REPLY_ADDRESS`);
  });
});
