import { randomUUID } from "node:crypto";
import type { AssistantMessage, ToolCallContent } from "../types/run/model.ts";
import { emptyMessage } from "./message.ts";
import type { loadPi, PiContext, PiModel, PiStream, PiStreamOptions, StreamModel } from "./pi.ts";
import { background } from "../utils/background.ts";

/** The model that answers when there is no key: it needs no network and says the same thing every time. */
export const DEMO_MODEL = { provider: "demo", id: "echo-agent" } as const;

type Reply = { readonly text: string } | { readonly call: Omit<ToolCallContent, "type" | "id"> };

/** Phrases that call a real tool. The rest of the phrase is the argument. */
const PHRASES: readonly { words: RegExp; call: (rest: string) => Omit<ToolCallContent, "type" | "id"> }[] = [
  {
    words: /^(?:please\s+)?list (?:the |my )?files(?:\s+in\s+(?<rest>\S+))?[.!?]*$/i,
    call: (rest) => ({ name: "ls", arguments: { path: rest || "." } }),
  },
  {
    words: /^(?:please\s+)?read (?:the file )?(?<rest>\S+?)[.!?]*$/i,
    call: (rest) => ({ name: "read", arguments: { path: rest } }),
  },
  { words: /^(?:please\s+)?run (?<rest>.+)$/is, call: (rest) => ({ name: "exec", arguments: { command: rest } }) },
];

const LABEL =
  "This is the built-in demo model: it echoes, and knows `list the files`, `read README.md` and `run date`. " +
  "Set a key such as ANTHROPIC_API_KEY and restart to talk to a real one.";

export function demoStream(pi: Awaited<ReturnType<typeof loadPi>>): StreamModel {
  return (model, context, options) => {
    const stream = pi.createAssistantMessageEventStream();
    background("demo model", speak(stream, model, answer(context), options));
    return stream;
  };
}

function answer(context: PiContext): Reply {
  const last = context.messages.at(-1);
  const label = wasLabelled(context) ? "" : `\n\n${LABEL}`;
  if (last?.role === "toolResult") return { text: afterTool(textOf(last.content), last.isError) + label };
  const whole = last ? textOf(last.content) : "";
  const said = ownWords(whole);
  const wanted = match(said);
  const known = new Set((context.tools ?? []).map((tool) => tool.name));
  if (wanted && known.has(wanted.name)) return { call: wanted };
  const reply = said === FRESH ? "Hello! This is a fresh conversation." : echo(said, filesIn(whole));
  return { text: reply + label };
}

/** A tool call is no reply yet: the label is appended to the first text. */
function wasLabelled(context: PiContext): boolean {
  return context.messages.some((message) => message.role === "assistant" && textOf(message.content).trim() !== "");
}

function echo(said: string, files: readonly string[]): string {
  const seen = files.length === 0 ? "" : `You sent ${files.join(", ")}, which this demo model cannot look at.`;
  const heard = said === "" ? "I heard nothing but silence." : `You said: ${said}`;
  if (seen === "") return heard;
  return said === "" ? seen : `${seen}\n\n${heard}`;
}

function match(said: string): Omit<ToolCallContent, "type" | "id"> | undefined {
  for (const phrase of PHRASES) {
    const found = phrase.words.exec(said);
    if (found) return phrase.call((found.groups?.["rest"] ?? "").replace(/^`|`$/g, "").trim());
  }
  return undefined;
}

function afterTool(text: string, failed: boolean): string {
  if (failed) return `That did not work: ${text.trim()}`;
  return `Here is what I got:\n\n\`\`\`\n${text.trim().replaceAll("```", "'''")}\n\`\`\``;
}

function textOf(content: string | readonly { type: string; text?: string }[]): string {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

const FRESH = "/new";
const FILE = /^\[media attached(?: \d+\/\d+)?: (?:[^\n(]*\/)?([^/\n(]+(?:\([^)\n]*\))?)(?: \| .*)?\]$/gm;

/** Names and types of the files that came along. */
function filesIn(text: string): readonly string[] {
  return [...text.matchAll(FILE)].map((found) => found[1] ?? "").filter((name) => !/^\d+ files$/.test(name));
}

/** The user's own text, without the notes and metadata blocks that the gateway puts around it. */
function ownWords(text: string): string {
  if (/^The user has just opened a fresh session\b/m.test(text)) return FRESH;
  return text
    .replace(/```json[\s\S]*?```/g, "")
    .replace(/^.*\(untrusted[^)]*\):\s*$/gm, "")
    .replace(/^(?:System: |\[media attached|\[image: |Note: The previous agent run was aborted).*$/gm, "")
    .replace(/^Untrusted context \(metadata[\s\S]*$/m, "")
    .trim();
}

/** Slow enough to be seen growing, quick enough to wait for. */
const WORD_MS = 8;
const WORD = /\S+\s*|\s+/g;

async function speak(stream: PiStream, model: PiModel, reply: Reply, options: PiStreamOptions | undefined) {
  const partial = emptyMessage(model);
  stream.push({ type: "start", partial });
  if ("call" in reply) return callTool(stream, partial, reply.call);
  const block = { type: "text" as const, text: "" };
  partial.content.push(block);
  stream.push({ type: "text_start", contentIndex: 0, partial });
  for (const word of reply.text.match(WORD) ?? []) {
    if (options?.signal?.aborted) return end(stream, partial, "aborted");
    block.text += word;
    stream.push({ type: "text_delta", contentIndex: 0, delta: word, partial });
    await new Promise((resolve) => setTimeout(resolve, WORD_MS));
  }
  stream.push({ type: "text_end", contentIndex: 0, content: block.text, partial });
  count(partial, reply.text);
  end(stream, partial, "stop");
}

function callTool(stream: PiStream, partial: AssistantMessage, call: Omit<ToolCallContent, "type" | "id">) {
  const toolCall = { type: "toolCall" as const, id: `demo_${randomUUID()}`, ...call };
  partial.content.push(toolCall);
  stream.push({ type: "toolcall_start", contentIndex: 0, partial });
  stream.push({ type: "toolcall_end", contentIndex: 0, toolCall, partial });
  count(partial, JSON.stringify(call));
  end(stream, partial, "toolUse");
}

function end(stream: PiStream, message: AssistantMessage, reason: "stop" | "toolUse" | "aborted") {
  message.stopReason = reason;
  if (reason === "aborted") {
    message.errorMessage = "Request was aborted";
    stream.push({ type: "error", reason, error: message });
  } else {
    stream.push({ type: "done", reason, message });
  }
  stream.end(message);
}

function count(message: AssistantMessage, text: string) {
  const output = Math.ceil(text.length / 4);
  message.usage = { ...message.usage, output, totalTokens: output };
}
