import { mutants, written } from "../odd-values.ts";
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

export interface OddTranscript {
  /** The way to what was changed, and how, for whoever reads a failure. */
  readonly name: string;
  readonly file: string;
  /** The number of the changed line, the first being 1. */
  readonly line: number;
}

/** Of all such transcripts those with these numbers, each with one or two values of another type than the gateway writes. */
export function* oddTranscripts(
  { from = 0, count }: { readonly from?: number; readonly count: number },
  sessionId: string,
  author: Author,
): Generator<OddTranscript> {
  let number = -1;
  // The header says which version the file has: that is another matter.
  for (const { name, values, at } of mutants(1, richTranscript(sessionId, author), 1)) {
    number += 1;
    if (number < from) continue;
    if (number === from + count) return;
    yield { name: `#${number} ${name}`, file: values.map((one) => `${written(one)}\n`).join(""), line: at + 1 };
  }
}
