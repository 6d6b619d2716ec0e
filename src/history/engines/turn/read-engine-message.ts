import type {
  AssistantMessage,
  ChatMessage,
  ImageContent,
  InputProvenance,
  TextContent,
  ToolResultMessage,
  Usage,
  UserMessage,
} from "../../../types/run/model.ts";
import { emptyUsage } from "../../../types/run/usage.ts";
import { type Fields, isFields } from "../../../utils/fields.ts";
import type { AnswerPart } from "../../parts.ts";

/**
 * Makes a new message from one that a plugin's code made: adds what engines leave out, and keeps unknown fields of a part.
 * Undefined when it is no message. May throw when a field is read.
 */
export function readEngineMessage(value: unknown): ChatMessage | undefined {
  if (!isFields(value)) return undefined;
  if (value["role"] === "user") return readUser(value);
  if (value["role"] === "assistant") return readAnswer(value);
  return value["role"] === "toolResult" || value["role"] === "tool" ? readResult(value) : undefined;
}

function readUser(value: Fields): UserMessage | undefined {
  const { content } = value;
  const read = typeof content === "string" ? content : listOf(content, readSeen);
  const provenance = provenanceOf(value["provenance"]);
  if (read === undefined) return undefined;
  return { role: "user", content: read, timestamp: timeOf(value), ...(provenance && { provenance }) };
}

const KINDS = ["third-party_user", "inter_session", "internal_system"] as const;
const SOURCES = ["originSessionId", "sourceSessionKey", "sourceChannel", "sourceTool"] as const;

/** Provenance in a value; undefined when the value is not well-formed. */
function provenanceOf(value: unknown): InputProvenance | undefined {
  if (!isFields(value)) return undefined;
  // The older name, in transcripts that other programs wrote.
  const given = value["kind"] === "external_user" ? "third-party_user" : value["kind"];
  const kind = KINDS.find((one) => one === given);
  if (kind === undefined || SOURCES.some((name) => !isTextOrUnset(value[name]))) return undefined;
  const provenance: InputProvenance = { kind };
  for (const name of SOURCES) {
    const source = value[name];
    if (typeof source === "string") provenance[name] = source;
  }
  return provenance;
}

const isTextOrUnset = (value: unknown): boolean => value === undefined || typeof value === "string";

function readAnswer(value: Fields): AssistantMessage | undefined {
  const content = listOf(asParts(value["content"]), readPart);
  if (!content) return undefined;
  const { errorMessage } = value;
  return {
    role: "assistant",
    content,
    api: textOr(value["api"]),
    provider: textOr(value["provider"]),
    model: textOr(value["model"]),
    usage: usageOf(value["usage"]),
    stopReason: stopOf(value["stopReason"], content),
    ...(typeof errorMessage === "string" && { errorMessage }),
    timestamp: timeOf(value),
  };
}

function readResult(value: Fields): ToolResultMessage | undefined {
  const content = listOf(asParts(value["content"]), readSeen);
  const { toolCallId } = value;
  if (!content || typeof toolCallId !== "string") return undefined;
  return {
    role: "toolResult",
    toolCallId,
    toolName: textOr(value["toolName"]),
    content,
    isError: value["isError"] === true,
    timestamp: timeOf(value),
  };
}

const asParts = (content: unknown): unknown =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

function readSeen(part: unknown): TextContent | ImageContent | undefined {
  if (!isFields(part)) return undefined;
  const { type, text, data, mimeType } = part;
  if (type === "text" && typeof text === "string") return { ...part, type, text };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string")
    return { ...part, type, data, mimeType };
  return undefined;
}

function readPart(part: unknown): AnswerPart | undefined {
  if (!isFields(part)) return undefined;
  const { type, text, thinking, id, name } = part;
  if (type === "text" && typeof text === "string") return { ...part, type, text };
  if (type === "thinking" && typeof thinking === "string") return { ...part, type, thinking };
  if (type !== "toolCall" || typeof id !== "string" || typeof name !== "string") return undefined;
  const given = part["arguments"];
  return { ...part, type, id, name, arguments: isFields(given) ? structuredClone(given) : {} };
}

/** Undefined when the value is no list, or when one of its items cannot be read. */
function listOf<T>(value: unknown, read: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: readonly unknown[] = value;
  const known: T[] = [];
  for (const item of items) {
    const one = read(item);
    if (one === undefined) return undefined;
    known.push(one);
  }
  return known;
}

const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

function timeOf({ timestamp }: Fields): number {
  return typeof timestamp === "number" && Number.isFinite(timestamp) ? timestamp : 0;
}

const STOPS = ["stop", "length", "toolUse", "error", "aborted"] as const;

function stopOf(value: unknown, content: readonly AnswerPart[]): AssistantMessage["stopReason"] {
  const usual = content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
  return STOPS.find((one) => one === value) ?? usual;
}

function usageOf(value: unknown): Usage {
  const usage = { ...emptyUsage() };
  if (!isFields(value)) return usage;
  for (const name of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const) {
    const given = value[name];
    if (typeof given === "number" && Number.isFinite(given)) usage[name] = given;
  }
  return usage;
}
