import type { ClientAsk } from "../../types/chat/client-ask.ts";
import type {
  AssistantMessage,
  ChatMessage,
  ImageContent,
  TextContent,
  ToolResultMessage,
} from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { ClientAttachment } from "../methods/attachments.ts";
import { badRequest, type ApiError } from "./errors.ts";

/** A part of a message: text, an image as base64, or another file. */
export type SaidPart = TextContent | ImageContent | { readonly type: "file"; readonly file: ClientAttachment };

export interface SaidCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as a model wrote it. */
  readonly args: string;
}

/** A message of a request, in whichever of OpenAI's protocols it came. */
export type Said =
  | { readonly role: "system" | "user"; readonly parts: readonly SaidPart[] }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly SaidCall[] }
  | { readonly role: "tool"; readonly callId: string; readonly parts: readonly SaidPart[] };

/** A request in whichever of OpenAI's protocols it came. */
export interface AskedAnswer {
  readonly model: string;
  readonly said: readonly Said[];
  readonly ask: Pick<ClientAsk, "tools" | "wish">;
  readonly user?: string;
  /** The response that the request continues. */
  readonly previous?: string;
}

/** A request as the gateway answers it: the turn, and what was said before. */
export interface SaidConversation {
  readonly system?: string;
  readonly before: readonly ChatMessage[];
  /** Results of calls that the client made; they and the text are the turn. */
  readonly results: readonly ToolResultMessage[];
  readonly text: string;
  readonly images: readonly ImageContent[];
  readonly files: readonly ClientAttachment[];
}

/** The most images of a turn. */
const MOST_IMAGES = 8;

/** Reads the messages. Never throws. */
export function saidConversation(said: readonly Said[], now: number): SaidConversation | ApiError {
  const talk = said.filter(({ role }) => role !== "system");
  const last = talk.at(-1);
  if (last?.role !== "user" && last?.role !== "tool")
    return badRequest("the last message must be the user's, or the result of a call", "messages");
  const user = last.role === "user" ? last : undefined;
  const rest = user ? talk.slice(0, -1) : talk;
  const begin = rest.findLastIndex(({ role }) => role !== "tool") + 1;
  const messages = chatMessages(rest, now);
  const system = said.flatMap((one) => (one.role === "system" ? [partsText(one.parts)] : [])).join("\n\n");
  const parts = user?.parts ?? [];
  const images = parts.filter((part) => part.type === "image");
  if (images.length > MOST_IMAGES) return badRequest(`a message may have ${MOST_IMAGES} images`, "messages");
  return {
    ...(system !== "" && { system }),
    before: messages.slice(0, begin),
    results: messages.slice(begin).filter((message) => message.role === "toolResult"),
    text: partsText(parts),
    images,
    files: parts.flatMap((part) => (part.type === "file" ? [part.file] : [])),
  };
}

/** The messages of a transcript, one for each. */
function chatMessages(said: readonly Said[], timestamp: number): readonly ChatMessage[] {
  const names = new Map(
    said.flatMap((one) => (one.role === "assistant" ? one.calls.map(({ id, name }) => [id, name] as const) : [])),
  );
  return said.map((one): ChatMessage => {
    if (one.role === "assistant") return assistant(one.text, one.calls, timestamp);
    const content = shown(one.role === "system" ? [] : one.parts);
    if (one.role !== "tool") return { role: "user", content, timestamp };
    const toolName = names.get(one.callId) ?? "unknown";
    return { role: "toolResult", toolCallId: one.callId, toolName, content, isError: false, timestamp };
  });
}

/** The parts that a model is shown; of a file of an earlier message, its name. */
const shown = (parts: readonly SaidPart[]): (TextContent | ImageContent)[] =>
  parts.map((part) =>
    part.type === "file"
      ? { type: "text", text: `[file: ${part.file.fileName ?? part.file.mimeType ?? "unnamed"}]` }
      : part,
  );

export const partsText = (parts: readonly SaidPart[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

function assistant(text: string, calls: readonly SaidCall[], timestamp: number): AssistantMessage {
  const said = text === "" ? [] : [{ type: "text" as const, text }];
  const made = calls.map(({ id, name, args }) => ({
    type: "toolCall" as const,
    id,
    name,
    arguments: argumentsOf(args),
  }));
  return {
    role: "assistant",
    content: [...said, ...made],
    api: "openai-completions",
    provider: "openclaw",
    model: "openclaw",
    usage: emptyUsage(),
    stopReason: calls.length === 0 ? "stop" : "toolUse",
    timestamp,
  };
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? { ...read } : {};
  } catch {
    // Broken arguments of a model are kept as text.
    return { raw: text };
  }
}
