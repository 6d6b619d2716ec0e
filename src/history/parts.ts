import type {
  AssistantMessage,
  ChatMessage,
  ImageContent,
  TextContent,
  ToolCallContent,
  ToolResultMessage,
  UserMessage,
} from "../types/run/model.ts";

export type AnswerPart = AssistantMessage["content"][number];

export function callsOf(message: ChatMessage): ToolCallContent[] {
  return message.role === "assistant" ? message.content.filter((part) => part.type === "toolCall") : [];
}

export const hasCalls = (message: ChatMessage): boolean =>
  message.role === "assistant" && message.content.some((part) => part.type === "toolCall");

/** Whether an answer neither failed nor was stopped. */
export const isWhole = ({ stopReason }: AssistantMessage): boolean =>
  stopReason !== "error" && stopReason !== "aborted";

/** The text of an answer, without thinking and calls. */
export function textOfAnswer(message: AssistantMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function partsOf(message: UserMessage): (TextContent | ImageContent)[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

const INTERRUPTED = "This call was interrupted; whether it took effect is not known.";

/** The result of a call whose end was not recorded. */
export const interruptedResult = (call: ToolCallContent, timestamp: number): ToolResultMessage =>
  errorResultOf(call, timestamp, INTERRUPTED);

/** Whether `interruptedResult` made this result. */
export const isInterrupted = ({ content }: ToolResultMessage): boolean =>
  content.some((part) => part.type === "text" && part.text === INTERRUPTED);

/** The result of a call that was waiting for a person when the gateway ended. */
export const unbegunResult = (call: ToolCallContent, timestamp: number): ToolResultMessage =>
  errorResultOf(
    call,
    timestamp,
    "This call was not run: the gateway ended while it waited for a person's answer. Call it again to ask anew.",
  );

function errorResultOf(call: ToolCallContent, timestamp: number, text: string): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text }],
    isError: true,
    timestamp,
  };
}

/** Like `map`, but returns the given array when nothing changed. */
export function mapSame<T>(items: readonly T[], change: (item: T, index: number) => T): readonly T[] {
  let changed: T[] | undefined;
  for (const [index, item] of items.entries()) {
    const next = change(item, index);
    // Most conversations need no change, and a copy for each of some twenty passes is garbage.
    if (next !== item) changed ??= items.slice(0, index);
    changed?.push(next);
  }
  return changed ?? items;
}

/** Like `filter`, but returns the given array when all stay. */
export function filterSame<T>(items: readonly T[], keep: (item: T, index: number) => boolean): readonly T[] {
  return items.every(keep) ? items : items.filter(keep);
}

/** The message with this content; the given message when it already has it. */
export function withContent<M extends ChatMessage>(message: M, content: readonly M["content"][number][]): M {
  return content === message.content ? message : { ...message, content: [...content] };
}

/** Whether a reader would see nothing: only white space, control characters or halves of surrogate pairs. */
export const isBlank = (text: string): boolean => !/[^\s\p{Cc}\p{Cs}]/u.test(text);

/** Fields that the SDK adds to a part and that the project's types do not name. */
export function hasField(part: object, name: string): boolean {
  return name in part;
}

interface SomePart {
  readonly type: string;
}

/** The parts of two messages that become one, with an empty line between their texts: many APIs show texts with nothing between them. */
export function joinedParts<P extends SomePart>(first: readonly P[], then: readonly P[]): P[] {
  const [last, next] = [first.at(-1), then[0]];
  if (!isText(last) || !isText(next)) return [...first, ...then];
  return [...first.slice(0, -1), { ...next, text: `${last.text}\n\n${next.text}` }, ...then.slice(1)];
}

const isText = <P extends SomePart>(part: P | undefined): part is P & TextContent => part?.type === "text";

/** Joins all texts of an answer to one, at the start. */
export function oneText(content: readonly AnswerPart[]): readonly AnswerPart[] {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length < 2) return content;
  return [{ type: "text", text: texts.join("\n\n") }, ...content.filter((part) => part.type !== "text")];
}
