import { NOWHERE_ELSE } from "../../kit/store/transcript-file.ts";
import { describe, expect, it } from "vitest";
import { replay } from "../../../src/history/replay.ts";
import { readBackTo } from "../../../src/sessions/transcript/read-back.ts";
import { Transcript } from "../../../src/sessions/transcript/transcript.ts";
import { textResult } from "../../../src/tools/define.ts";
import type { AssistantMessage } from "../../../src/types/run/model.ts";
import type { PromptRecord } from "../../../src/types/run/run.ts";
import { emptyUsage } from "../../../src/types/run/usage.ts";
import type { ModelReply } from "../../fakes/model.ts";
import { messagesVoice } from "../../fakes/model-voices.ts";
import { makeTool } from "../../kit/tools.ts";
import { remediesOf, resultOf, shownIn, useScenes } from "./wire-scene.ts";
import { errorOf, nextTo, REFS, type WireApi } from "./wires.ts";

const scenes = useScenes();
const { scene, expectSound } = scenes;

const CLAUDE = "anthropic-messages";
const REFUSALS: readonly (readonly [api: WireApi, signature: string, message: string])[] = [
  [CLAUDE, "b2xkLXNpZ25hdHVyZQ==", "messages.1.content.0: Invalid `signature` in `thinking` block"],
  [
    "openai-responses",
    JSON.stringify({ type: "reasoning", id: "rs_old", summary: [], encrypted_content: "b2xkLXNpZ25hdHVyZQ==" }),
    "The encrypted content for item rs_old could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
  ],
  ["google-generative-ai", "b2xkLXNpZ25hdHVyZQ==", "Corrupted thought signature."],
];
/** Part of each of the old signatures. */
const OLD = "b2xkLXNpZ25hdHVyZQ==";

/** An answer of the model from when it had another key. */
const thoughtOf = (api: WireApi, thinkingSignature: string): AssistantMessage => ({
  role: "assistant",
  content: [
    { type: "thinking", thinking: "an old thought", thinkingSignature },
    // The Responses API takes a thought only with the item that it led to.
    {
      type: "text",
      text: "an old answer",
      ...(api === "openai-responses" && { textSignature: "msg_0123456789abcdef" }),
    },
  ],
  api,
  provider: REFS[api].provider,
  model: REFS[api].id,
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp: 2,
});

const RECORD = {
  system: "",
  systemParts: [],
  bodyParts: [],
  hasSummary: false,
  api: CLAUDE,
  input: ["text"] as const,
  images: false,
  strict: false,
  cuts: {},
  tools: ["send"],
  messages: 3,
} as const;

async function before(api: WireApi, signature: string): Promise<void> {
  const { session } = scenes.fixture;
  await session.append({ type: "message", message: { role: "user", content: "long ago", timestamp: 1 } });
  await session.append({ type: "message", message: thoughtOf(api, signature) }, { durable: true });
}

describe("thoughts with a signature that is refused", () => {
  it.each(REFUSALS)("%s: are left out, once and for all later turns", async (api, signature, message) => {
    await before(api, signature);
    const { ask, sent, faults } = scene(api);
    const refuse = errorOf(api, 400, { message, type: "invalid_request_error" });
    scenes.fixture.model.answer(() => (JSON.stringify(sent.at(-1)?.request).includes(OLD) ? refuse : { text: "here" }));
    const first = await ask("please", "turn-1");
    expect(resultOf(first)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(first)).toEqual(["drop_thinking"]);
    expect(sent).toHaveLength(2);
    for (const turn of ["turn-2", "turn-3"]) {
      const events = await ask(`and ${turn}`, turn);
      expect(remediesOf(events)).toEqual([]);
      expect(shownIn(events)).toBe("here");
    }
    expect(sent).toHaveLength(4);
    expect(JSON.stringify(sent.at(-1)?.request)).toContain("an old answer");
    expect(faults()).toEqual([]);
    await expectSound(["please"], 0);
  });

  it("are left out by another process too, and where the prompt is shown again", async () => {
    await before(CLAUDE, OLD);
    const { ask, sent } = scene(CLAUDE);
    const refuse = errorOf(CLAUDE, 400, { message: "messages.1.content.0: Invalid `signature` in `thinking` block" });
    scenes.fixture.model.answer(() => (JSON.stringify(sent.at(-1)?.request).includes(OLD) ? refuse : { text: "here" }));
    await ask("please", "turn-1");
    const { sessions, session } = scenes.fixture;
    const { refusedThinking, messages, estimatedTokens } = await session.window(1_000_000);
    expect(refusedThinking).toEqual({ "anthropic/claude-sonnet-4-5": 2 });
    const lastId = messages.findLast(({ message }) => message.role === "user")?.entryId ?? "";
    const firstId = messages[0]?.entryId ?? "";
    const stretch = { firstId, lastId, hasSummary: false };
    const entries = (await readBackTo(session.file, stretch)) ?? [];
    const record: PromptRecord = { ...RECORD, firstEntryId: firstId, lastEntryId: lastId, estimatedTokens };
    expect(JSON.stringify(replay(record, entries, REFS[CLAUDE]).messages)).not.toContain(OLD);
    session.release();
    await sessions.close();
    const { log } = scenes.fixture;
    const again = await Transcript.open({
      path: session.file,
      sessionId: session.id,
      cwd: "/",
      earlier: NOWHERE_ELSE,
      log,
      now: () => 0,
    });
    expect((await again.window(1_000_000)).refusedThinking).toEqual(refusedThinking);
    await again.close();
  });

  it("are all left out at the first refusal where a server does not take their field", async () => {
    const api = "openai-completions";
    const { ask, sent, faults } = scene(api);
    const refuse = errorOf(api, 400, { message: "property 'messages.1.assistant.reasoning_content' is unsupported" });
    scenes.fixture.model.answer(() =>
      JSON.stringify(sent.at(-1)?.request).includes("reasoning_content") ? refuse : { text: "here", thinking: "hm" },
    );
    const remedies: string[][] = [];
    for (let turn = 1; turn <= 5; turn += 1) remedies.push(remediesOf(await ask(`turn ${turn}`, `turn-${turn}`)));
    expect(remedies).toEqual([[], ["drop_thinking"], [], [], []]);
    expect(faults()).toEqual([]);
  });

  it("are not sent again unchanged where there is nothing to leave out", async () => {
    const { ask, sent } = scene(CLAUDE);
    scenes.fixture.model.answer(() =>
      errorOf(CLAUDE, 400, { message: "messages.1.content.0: Invalid `signature` in `thinking` block" }),
    );
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toMatchObject([{ kind: "failed", failure: { kind: "thinking_refused" } }]);
    expect(sent).toHaveLength(1);
  });
});

describe("a refused request", () => {
  it("is not sent at a lower level of thinking that asks for the same tokens", async () => {
    const { ask, sent } = scene(CLAUDE);
    const message = "Unsupported parameter: 'thinking' is not supported with this model.";
    scenes.fixture.model.answer(() => errorOf(CLAUDE, 400, { message, type: "invalid_request_error" }));
    const events = await ask("please", "turn-1", { thinking: "high" });
    const bodies = sent.map(({ request }) => JSON.stringify(request));
    expect(new Set(bodies).size).toBe(bodies.length);
    expect(JSON.stringify(sent.at(-1)?.request)).not.toContain('"enabled"');
    expect(remediesOf(events)).toEqual(Array.from({ length: 4 }, () => "lower_thinking"));
  });

  const KINDS: readonly (readonly [message: string, most: number])[] = [
    ["Unsupported parameter: 'thinking' is not supported with this model.", 3],
    ["`max_tokens` must be less than or equal to `64`, the maximum value for `max_tokens`", 3],
    ['messages: roles must alternate between "user" and "assistant"', 2],
    ["The tea is cold today", 2],
  ];

  it.each(KINDS)("is never sent twice: %s", async (message, most) => {
    const { ask, sent } = scene(CLAUDE);
    scenes.fixture.model.answer(() => errorOf(CLAUDE, 400, { message, type: "invalid_request_error" }));
    await ask("please", "turn-1", { candidates: [REFS[CLAUDE], REFS[nextTo(CLAUDE)]] });
    const bodies = sent.map(({ request }) => JSON.stringify(request));
    expect(new Set(bodies).size).toBe(bodies.length);
    expect(sent.filter(({ model }) => model === REFS[CLAUDE].id).length).toBeLessThanOrEqual(most);
  });
});

describe("a thought of which Anthropic gave only the signature", () => {
  const frames = (name: string) => {
    const voice = messagesVoice("claude");
    const empty = voice.begin() + voice.call(name) + voice.args("{}") + voice.finish("tool");
    const block = (event: { readonly type: string; readonly [more: string]: unknown }) =>
      `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    const thought = [
      block({
        type: "content_block_start",
        index: 90,
        content_block: { type: "thinking", thinking: "", signature: "" },
      }),
      block({
        type: "content_block_delta",
        index: 90,
        delta: { type: "signature_delta", signature: "c2lnbmVk" },
      }),
      block({ type: "content_block_stop", index: 90 }),
    ].join("");
    return empty.replace(/(?=event: content_block_start)/, thought);
  };

  it("is sent back in front of its call, as it came", async () => {
    const { ask, sent, faults } = scene(CLAUDE);
    const look = makeTool("look", async () => textResult("seen"));
    const needed = errorOf(CLAUDE, 400, {
      message:
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    });
    scenes.fixture.model.answer((_, number): ModelReply => {
      if (number === 1)
        return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body: frames("look") } };
      const body = JSON.stringify(scenes.fixture.model.calls.at(-1)?.body);
      return body.includes('{"type":"thinking","thinking":"","signature":"c2lnbmVk"}') ? { text: "seen it" } : needed;
    });
    const events = await ask("look", "turn-1", { tools: [look] });
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(events)).toEqual([]);
    expect(shownIn(events)).toBe("seen it");
    expect(sent.at(-1)?.request).toMatchObject({ thinking: { type: "enabled" } });
    expect(faults()).toEqual([]);
  });
});
