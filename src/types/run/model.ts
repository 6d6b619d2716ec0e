import type { AgentInternalEvent } from "../engine/internal-event.ts";
import type { SentFiles } from "../chat/sent-files.ts";
import type { Usage } from "./usage.ts";

export type { Usage };

export const THINK_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkLevel = (typeof THINK_LEVELS)[number];

export interface ModelRef {
  readonly provider: string;
  readonly id: string;
}

/** `anthropic/claude-sonnet-4-5`: how people write it. */
export const modelName = ({ provider, id }: ModelRef): string => `${provider}/${id}`;

/** The model that is written so; undefined for another text. */
export function parseModelName(text: string): ModelRef | undefined {
  const slash = text.indexOf("/");
  return slash < 1 || slash === text.length - 1
    ? undefined
    : { provider: text.slice(0, slash), id: text.slice(slash + 1) };
}

export const isSameModel = (one: ModelRef, other: ModelRef): boolean =>
  one.provider === other.provider && one.id === other.id;

export interface ModelInfo extends ModelRef {
  readonly name: string;
  /** Tokens. */
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly reasoning: boolean;
  readonly input: readonly ("text" | "image")[];
  /** The built-in echo model. */
  readonly demo?: boolean;
}

export interface TextContent {
  type: "text";
  text: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}
export interface ImageContent {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}
export interface ToolCallContent {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Where a user message came from, in the field's terms. `external_user` of older transcripts means `third-party_user`. */
export interface InputProvenance {
  kind: "third-party_user" | "inter_session" | "internal_system";
  originSessionId?: string;
  sourceSessionKey?: string;
  sourceChannel?: string;
  /** `subagent_announce`, `sessions_send`, `agent_step`, `memory_flush`, … */
  sourceTool?: string;
}

export interface UserMessage {
  role: "user";
  content: string | (TextContent | ImageContent)[];
  timestamp: number;
  /** Origin of the message; unset where it is not known. */
  provenance?: InputProvenance;
  /** The events that the message's text was made from. */
  internalEvents?: readonly AgentInternalEvent[];
  /** Steered into a turn that was under way: no turn begins with it. */
  steered?: true;
  /** Set for a text that the gateway added to the conversation: the type of its entry. No turn begins with it. */
  customType?: string;
  /** The files that were sent with the message, for its readers; models are not shown it. */
  __openclaw?: SentFiles;
}
export interface AssistantMessage {
  role: "assistant";
  content: (TextContent | ThinkingContent | ToolCallContent)[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  errorMessage?: string;
  timestamp: number;
}
export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextContent | ImageContent)[];
  details?: unknown;
  isError: boolean;
  timestamp: number;
}

/** A message of a transcript; the same shapes as pi-ai's `Message`. */
export type ChatMessage = UserMessage | AssistantMessage | ToolResultMessage;
