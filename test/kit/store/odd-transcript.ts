import { random } from "../../faults/random.ts";
import { png } from "../pictures.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Entry = { [name: string]: Json };

/** A model's answers say who wrote them: a signature counts for that model alone. */
export interface Author {
  readonly api: string;
  readonly provider: string;
  readonly id: string;
}

const AT = "2026-11-20T10:00:00.000Z";
const PNG = png(4, 4).toString("base64");
const SIGNED = JSON.stringify({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "YWJj" });
const usage = (): Json => ({
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 15,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});

/** A conversation with every kind of entry and of part that the gateway writes, one entry for each line of a file. */
export function richTranscript(sessionId: string, { api, provider, id: model }: Author): Entry[] {
  const signature = api === "openai-responses" ? SIGNED : "c2lnbmF0dXJl";
  const answer = (content: Json[], more: Entry = {}): Entry => ({
    role: "assistant",
    content,
    api,
    provider,
    model,
    usage: usage(),
    stopReason: content.some((part) => JSON.stringify(part).includes("toolCall")) ? "toolUse" : "stop",
    timestamp: 2,
    ...more,
  });
  const result = (toolCallId: string, toolName: string, content: Json[], more: Entry = {}): Entry => ({
    role: "toolResult",
    toolCallId,
    toolName,
    content,
    isError: false,
    timestamp: 3,
    ...more,
  });
  const text = (said: string): Json => ({ type: "text", text: said });
  const image: Json = { type: "image", data: PNG, mimeType: "image/png" };
  const messages: Entry[] = [
    { role: "user", content: "first words", timestamp: 1 },
    answer([text("an answer before the summary")]),
    { role: "user", content: [text("look at this"), image], timestamp: 1 },
    answer([
      { type: "thinking", thinking: "let me look", thinkingSignature: signature },
      { ...(text("I look") as Entry), textSignature: "msg_0123456789ab" },
      { type: "toolCall", id: "call_1|fc_1", name: "read", arguments: { path: "notes.md", lines: [1, 2] } },
      { type: "toolCall", id: "call_2|fc_2", name: "exec", arguments: { command: "ls" }, thoughtSignature: "c2ln" },
    ]),
    result("call_1|fc_1", "read", [text("what the file says"), image], {
      details: { externalContent: { untrusted: true, source: "web" }, isError: false },
    }),
    result("call_2|fc_2", "exec", [text("a list")], { isError: true }),
    answer([text("done"), { type: "thinking", thinking: "", thinkingSignature: signature, redacted: true }]),
    {
      role: "user",
      content: "from another session",
      timestamp: 1,
      provenance: { kind: "inter_session", sourceSessionKey: "agent:main:main", sourceTool: "sessions_send" },
    },
    answer([text("one two")], { stopReason: "error", errorMessage: "it broke" }),
    { role: "user", content: "go on", timestamp: 1, provenance: { kind: "internal_system", sourceTool: "continue" } },
    answer([text("three four")]),
    { role: "user", content: "steered", timestamp: 1, steered: true },
    answer([text("yes")]),
  ];
  const bodies: Entry[] = messages.map((message) => ({ type: "message", message }));
  const kept = "e3";
  bodies.splice(9, 0, { type: "compaction", summary: "what came before", firstKeptEntryId: kept, tokensBefore: 900 });
  bodies.splice(4, 0, { type: "custom_message", customType: "note", content: [text("a note")], display: true });
  bodies.splice(4, 0, {
    type: "branch_summary",
    fromId: "e1",
    summary: "another branch",
    details: { readFiles: ["a"] },
  });
  bodies.splice(2, 0, { type: "model_change", provider, modelId: model });
  bodies.push(
    { type: "thinking_level_change", thinkingLevel: "low" },
    { type: "custom", customType: "openclaw.notice", data: { text: "a notice", media: [] } },
    { type: "custom", customType: "openclaw.approval", data: { callId: "call_2", state: "asked" } },
    { type: "label", targetId: "e1", label: "a label" },
    { type: "session_info", name: "a name" },
    { type: "custom_message", customType: "note", content: "a hidden note", display: false },
  );
  const entries = bodies.map((body, at) => ({
    ...body,
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: AT,
  }));
  return [{ type: "session", version: 3, id: sessionId, timestamp: AT, cwd: "/tmp" }, ...entries];
}

/** What a field may become; `undefined` is a field that is missing. The last one is what a large number of a file becomes. */
const VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => 5,
  () => [],
  () => [null],
  () => ({}),
  () => ({ type: "text" }),
  () => true,
  () => "",
  () => "x".repeat(50_000),
  () => Number.POSITIVE_INFINITY,
  () => -1e300,
];

/** Every field of an entry at any depth, as the way to it. */
function waysIn(value: unknown, way: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return way.length === 0 ? [] : [way];
  const inner = Object.entries(value).flatMap(([name, one]) =>
    waysIn(one, [...way, Array.isArray(value) ? Number(name) : name]),
  );
  return way.length === 0 ? inner : [way, ...inner];
}

function changed(value: unknown, way: readonly (string | number)[], to: unknown): unknown {
  const [name, ...rest] = way;
  if (name === undefined) return to;
  if (Array.isArray(value)) return value.map((one: unknown, at) => (at === name ? changed(one, rest, to) : one));
  return Object.fromEntries(
    Object.entries(value ?? {}).flatMap(([key, one]) => {
      if (key !== String(name)) return [[key, one]];
      const next = changed(one, rest, to);
      return next === undefined ? [] : [[key, next]];
    }),
  );
}

/** An infinite number is written as the figure that is read as one. */
const written = (entry: unknown): string =>
  JSON.stringify(entry, (_name, value: unknown) => (value === Number.POSITIVE_INFINITY ? "\u0000" : value)).replaceAll(
    String.raw`"\u0000"`,
    "1e999",
  );

export interface OddTranscript {
  /** The way to what was changed, and how, for whoever reads a failure. */
  readonly name: string;
  readonly file: string;
  /** The number of the changed line, the first being 1. */
  readonly line: number;
}

/** As many transcripts as are wanted, each with one or two values of another type than the gateway writes. The seed decides. */
export function* oddTranscripts(
  seed: number,
  count: number,
  sessionId: string,
  author: Author,
): Generator<OddTranscript> {
  const below = random(seed);
  const whole = richTranscript(sessionId, author);
  // The header says which version the file has: that is another matter.
  const ways = whole.flatMap((entry, at) => (at === 0 ? [] : waysIn(entry).map((way) => ({ at, way }))));
  for (let number = 0; number < count; number += 1) {
    const entries: unknown[] = [...whole];
    const names: string[] = [];
    let line = 0;
    for (let times = below(4) === 0 ? 2 : 1; times > 0; times -= 1) {
      const { at, way } = ways[below(ways.length)] ?? { at: 1, way: ["type"] };
      const to = VALUES[below(VALUES.length)]?.();
      entries[at] = changed(entries[at], way, to);
      names.push(`${at}.${way.join(".")} = ${to === undefined ? "missing" : written(to).slice(0, 40)}`);
      line = at + 1;
    }
    yield { name: `#${number} ${names.join(", ")}`, file: entries.map((one) => `${written(one)}\n`).join(""), line };
  }
}
