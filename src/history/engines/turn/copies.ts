import { RUNTIME_CONTEXT } from "../../../sessions/transcript/entries.ts";
import type { AgentMessage } from "../../../types/engine/context-engine.ts";
import type { AgentInternalEvent } from "../../../types/engine/internal-event.ts";
import type { ChatMessage, InputProvenance, ToolResultMessage } from "../../../types/run/model.ts";
import type { AnswerPart } from "../../parts.ts";

/** The messages that an engine gets. */
export interface EngineMessages {
  readonly messages: readonly ChatMessage[];
  /** Index of the first message of the current turn. */
  readonly boundary: number;
}

/** Removes the messages that no engine gets. Returns the same array if there are none. */
export function forEngine(messages: readonly ChatMessage[], boundary: number): EngineMessages {
  if (!messages.some(isRuntimeContext)) return { messages, boundary };
  const before = messages.slice(0, boundary).filter((message) => !isRuntimeContext(message));
  const turn = messages.slice(boundary).filter((message) => !isRuntimeContext(message));
  return { messages: [...before, ...turn], boundary: before.length };
}

const isRuntimeContext = (message: ChatMessage): boolean =>
  "customType" in message && message.customType === RUNTIME_CONTEXT;

/** Index of the first message that is new with the current turn: texts that were added since the turn before count. */
export function newSince({ messages, boundary }: EngineMessages): number {
  const before = messages.slice(0, boundary).findLastIndex((message) => !isNote(message));
  return before + 1;
}

const isNote = (message: ChatMessage): boolean => message.role === "user" && message.customType !== undefined;

/** Copies that an engine may keep and change. They share texts and image data, so a copy costs little. */
export const copiesOf = (messages: readonly ChatMessage[]): AgentMessage[] => messages.map(copyOf);

export function copyOf(message: ChatMessage): AgentMessage {
  if (message.role === "assistant")
    return { ...message, content: message.content.map(copyPart), usage: structuredClone(message.usage) };
  if (message.role === "toolResult") return copyResult(message);
  const { internalEvents: _beside, ...plain } = message;
  const { content, provenance } = plain;
  return {
    ...plain,
    content: typeof content === "string" ? content : content.map((part) => ({ ...part })),
    ...(provenance && { provenance: provenanceOf(message) ?? { ...provenance } }),
  };
}

function copyPart(part: AnswerPart): AnswerPart {
  return part.type === "toolCall" ? { ...part, arguments: structuredClone(part.arguments) } : { ...part };
}

function copyResult({ details, ...message }: ToolResultMessage): ToolResultMessage {
  const copied = cloned(details);
  return {
    ...message,
    content: message.content.map((part) => ({ ...part })),
    ...(copied !== undefined && { details: copied }),
  };
}

function cloned(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    // A tool's result may contain values that cannot be copied, such as a function. The engine gets no details then.
    return undefined;
  }
}

/** The marks of the messages, by index; as many as there are messages. */
export interface Signals {
  readonly inputProvenance: readonly (InputProvenance | undefined)[];
  readonly internalEvents: readonly (readonly AgentInternalEvent[] | undefined)[];
}

function provenanceOf(message: ChatMessage): InputProvenance | undefined {
  if (message.role !== "user" || !message.provenance) return undefined;
  const { kind }: { readonly kind: string } = message.provenance;
  // An older name, in transcripts that other programs wrote.
  return { ...message.provenance, ...(kind === "external_user" && { kind: "third-party_user" }) };
}

export const signalsOf = (messages: readonly ChatMessage[]): Signals => ({
  inputProvenance: messages.map(provenanceOf),
  internalEvents: messages.map((message) =>
    message.role === "user" && message.internalEvents ? structuredClone(message.internalEvents) : undefined,
  ),
});
