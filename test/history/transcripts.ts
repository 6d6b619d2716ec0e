import fc from "fast-check";
import type { AssistantMessage, ChatMessage, ToolResultMessage } from "../../src/types/run/model.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { WIRES } from "./wire.ts";

/** Whole files begin like these. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const JPEG = "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4R";

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("", " ", "\n\t", "\u0000", "\ud800", "half \udc00 a pair", "long ".repeat(4000), "\u200b", "😀"),
);
const id = fc.constantFrom(
  "a",
  "functions.exec:0",
  "functions.exec:1",
  "",
  "call_1|fc_1",
  "call_1|fc_2",
  "call_2|fc_3_",
  "call_3|rs/+==",
  "toolu_01A",
  "x".repeat(80),
  `${"x".repeat(80)}y`,
  "a_2",
  "a|b",
  "|",
  "ünï",
  "tail_",
);
const name = fc.constantFrom(
  "read",
  "exec",
  "functions.exec",
  "",
  "exec<|channel|>commentary",
  "9lives",
  "n".repeat(90),
);
const image = fc
  .tuple(fc.constantFrom(PNG, JPEG, "AA==", "", "no base64!"), fc.constantFrom("image/png", "image/jpeg", "image/bmp"))
  .map(([data, mimeType]) => ({ type: "image" as const, data, mimeType }));
const seen = fc.array(
  fc.oneof({ weight: 3, arbitrary: text.map((said) => ({ type: "text" as const, text: said })) }, image),
  {
    maxLength: 3,
  },
);
const origin = fc.constantFrom(
  ...WIRES.map((wire) => ({ api: wire.model.api, provider: wire.model.provider, model: wire.model.id })),
  { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-4-1" },
  { api: "openai-responses", provider: "openai", model: "gpt-5-mini" },
  { api: "google-generative-ai", provider: "google", model: "gemini-3-pro" },
);

const reasoning = (item: string, more: object) => JSON.stringify({ type: "reasoning", id: item, summary: [], ...more });
const signature = fc.constantFrom(
  undefined,
  "",
  "c2lnbmF0dXJl",
  "reasoning_content",
  "role",
  reasoning("rs_1", { encrypted_content: "YWJj" }),
  reasoning("rs_2", { encrypted_content: "YWJj" }),
  reasoning("rs_3", {}),
  "{broken",
);
const thinking = fc.tuple(text, signature, fc.boolean()).map(([said, signed, redacted]) => ({
  type: "thinking" as const,
  thinking: said,
  ...(signed !== undefined && { thinkingSignature: signed }),
  ...(redacted && { redacted }),
}));
const said = fc
  .tuple(
    text,
    fc.constantFrom(undefined, "msg_1", "msg_0123456789ab", '{"v":1,"id":"msg_ba9876543210"}', "c2ln", "x".repeat(90)),
  )
  .map(([words, signed]) => ({ type: "text" as const, text: words, ...(signed && { textSignature: signed }) }));
const call = fc
  .record({
    id,
    name,
    given: fc.oneof(
      fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
      fc.constantFrom<unknown>('{"path":"x"}', '{"path":', "", null, [1], 7, { path: "half \ud83d" }),
    ),
    signed: fc.constantFrom(undefined, "c2lnbmF0dXJl", '{"type":"reasoning.encrypted"}'),
  })
  .map(({ given, signed, ...rest }) => ({
    type: "toolCall" as const,
    ...rest,
    arguments: given as Record<string, unknown>,
    ...(signed && { thoughtSignature: signed }),
  }));

const answer = fc
  .record({
    content: fc.array(fc.oneof(said, thinking, call), { maxLength: 4 }),
    origin,
    stopReason: fc.oneof(
      { weight: 6, arbitrary: fc.constant("stop" as const) },
      fc.constantFrom("length" as const, "error" as const, "aborted" as const),
    ),
  })
  .map(({ content, origin: by, stopReason }): AssistantMessage => ({
    role: "assistant",
    content,
    ...by,
    usage: emptyUsage(),
    stopReason,
    timestamp: 2,
  }));

const result = fc
  .record({ toolCallId: id, toolName: name, content: seen, isError: fc.boolean() })
  .map((given): ToolResultMessage => ({ role: "toolResult", ...given, details: { exit: 0 }, timestamp: 3 }));

const user = fc
  .record({
    content: fc.oneof(text, seen),
    provenance: fc.constantFrom(undefined, undefined, {
      kind: "inter_session",
      sourceSessionKey: "a:b",
      sourceTool: "x y",
    }),
  })
  .map(({ content, provenance }): ChatMessage => ({
    role: "user",
    content,
    timestamp: 1,
    ...(provenance && { provenance }),
  }));

/** Some calls with their results, so that not all is broken. */
const round = fc.tuple(answer, fc.boolean(), seen).map(([made, backwards, content]): ChatMessage[] => {
  const results = made.content.flatMap((part): ToolResultMessage[] =>
    part.type === "toolCall"
      ? [{ role: "toolResult", toolCallId: part.id, toolName: part.name, content, isError: false, timestamp: 3 }]
      : [],
  );
  return [made, ...(backwards ? results.toReversed() : results)];
});

const stretch = fc.oneof(
  { weight: 4, arbitrary: round },
  { weight: 3, arbitrary: user.map((one) => [one]) },
  answer.map((one) => [one]),
  result.map((one) => [one]),
  // An entry that is there twice.
  round.map((one) => [...one, ...one]),
);

/** A transcript as years of crashes, edits, switches of the model and other programs leave it. */
export const transcript = fc.array(stretch, { maxLength: 12 }).map((parts) => parts.flat());
/** What stands at its end when the model is asked: the user's turn, or the results of calls. */
export const ending = fc.oneof(
  { weight: 2, arbitrary: user.map((one): ChatMessage[] => [one]) },
  fc
    .tuple(user, call, origin, seen)
    .map(([one, made, by, content]): ChatMessage[] => [
      one,
      { role: "assistant", content: [made], ...by, usage: emptyUsage(), stopReason: "toolUse", timestamp: 2 },
      { role: "toolResult", toolCallId: made.id, toolName: made.name, content, isError: false, timestamp: 3 },
    ]),
);

export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
