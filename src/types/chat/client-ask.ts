import type { ChatMessage, ToolResultMessage } from "../run/model.ts";

/** A function of the client that asks. The client makes the calls; the gateway only passes them on. */
export interface ClientTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. Any arguments fit when unset. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The form of an answer that is JSON: any object, or a value that fits a schema. */
export interface AnswerFormat {
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** How a client wants an answer to be made. An option that the model's API lacks has no effect. */
export interface AnswerWish {
  readonly temperature?: number;
  readonly topP?: number;
  /** Tokens of one answer of the model. */
  readonly maxTokens?: number;
  /** Texts before which the answer ends. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** Whether the client's tools are called: never, some tool in any case, or this one. The model decides when unset. */
  readonly calls?: "none" | "required" | { readonly tool: string };
  /** Plain text when unset. */
  readonly format?: AnswerFormat;
}

/** The earlier messages of a conversation, as a client has them. */
export interface GivenHistory {
  readonly messages: readonly ChatMessage[];
  /** The client has all of the conversation: the conversation continues without turns that the client does not have. */
  readonly isAll?: true;
}

/** What a program that speaks OpenAI's protocol asks of a turn beside its text. Plain data: the journal stores it as JSON. */
export interface ClientAsk {
  /** Joins the system prompt. */
  readonly system?: string;
  readonly tools?: readonly ClientTool[];
  /** The results of calls that the client made, before the text. */
  readonly results?: readonly ToolResultMessage[];
  readonly wish?: AnswerWish;
  readonly history?: GivenHistory;
}
