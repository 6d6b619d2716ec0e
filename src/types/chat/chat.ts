import type { RunEvent, RunStream } from "../run/events.ts";
import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { ClientAsk } from "./client-ask.ts";
import type { MediaItem } from "./message.ts";
import type { AssistantMessage, ChatMessage, ThinkLevel } from "../run/model.ts";
import type { RunFacts } from "../run/run.ts";
import type { Asked, ClientQuestion, EndedQuestion, QuestionEnd } from "./question-end.ts";
import type { PersonsAnswer } from "../answers/approvals.ts";
import type { Approval } from "../run/tool.ts";
import type { Scope } from "../method.ts";

/** A message of a web, RPC, HTTP or command-line client. */
export interface ChatRequest {
  readonly sessionKey: SessionKey;
  readonly text: string;
  readonly media: readonly MediaItem[];
  /** Becomes the run id. The same one again starts nothing. */
  readonly idempotencyKey: string;
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  readonly senderName?: string;
  /** The answer also goes to the chat that the session belongs to. */
  readonly deliver?: boolean;
  /** Set for a request in OpenAI's protocol. */
  readonly client?: ClientAsk;
}

/** A request that brings its own history and is not kept in a transcript (OpenAI-compatible endpoints). */
export interface OneShotRequest {
  readonly agentId: AgentId;
  /** The model that is asked before the agent's own, `provider/id`; only where the agent may use it. */
  readonly model?: string;
  /** Ends with the user's turn, or with the results of calls that the client made. */
  readonly messages: readonly ChatMessage[];
  /** Files of the user's turn. */
  readonly media: readonly MediaItem[];
  readonly client: Pick<ClientAsk, "system" | "tools" | "wish">;
  /** The model answers from the messages alone, without the agent's prompt and tools. */
  readonly isBare?: true;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** An event of a compaction outside of a run: on request, or after a turn. */
export interface CompactionUpdate {
  readonly facts: RunFacts;
  readonly event: RunEvent;
}

/** A message of a web client: it waits, or the conversation has it. */
export interface InputReceipt {
  readonly runId: RunId;
  readonly state: "pending" | "consumed";
  /** The entry of the transcript. */
  readonly consumedByEventId?: string;
}

/** A message that waits for its turn. */
export interface WaitingInput {
  readonly inboxId: number;
  readonly runId: RunId;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

/** Messages of people. */
export interface ChatInputs {
  /** The scopes, besides `operator.write`, that a client needs for the commands and directives in a text. */
  scopesFor(text: string): readonly Scope[];
  /** The messages of web clients with these run ids; those that are not known are left out. */
  named(runIds: readonly string[]): Promise<readonly InputReceipt[]>;
  /** The messages that wait in a session, in the order in which their turns begin. */
  waitingIn(key: SessionKey): Promise<readonly WaitingInput[]>;
}

/** Methods of `dispatch/` that `server/` may call. */
export interface ChatPort {
  /**
   * Stores a message; it is durable when the promise resolves. `queued`: the message waits for a run of the session.
   * `duplicate`: the key is known.
   */
  send(request: ChatRequest): Promise<{ readonly runId: RunId; readonly status: "started" | "queued" | "duplicate" }>;
  oneShot(request: OneShotRequest): Promise<RunStream>;
  /** Ends runs of a session and returns their ids. */
  abort(key: SessionKey, only?: RunId): Promise<readonly RunId[]>;
  /** Replaces the older part of a conversation by a summary, once its lane is free. `reason` explains why it did not. */
  compact(key: SessionKey): Promise<{
    readonly compacted: boolean;
    readonly reason?: string;
    readonly tokensBefore?: number;
    readonly tokensAfter?: number;
  }>;
  active(key?: SessionKey): readonly RunFacts[];
  /** A run that is active or ended recently. */
  stream(runId: RunId): RunStream | undefined;
  /** The runs that answer or answered messages of a session, by the messages' transcript ids, as far as they are known. */
  runsOf(key: SessionKey, turnIds: readonly string[]): Promise<ReadonlyMap<string, RunId>>;
  readonly inputs: ChatInputs;
  /** Every new run, as it begins. */
  runs(signal: AbortSignal): AsyncIterable<RunStream>;
  /** New compactions outside of runs. */
  compactions(signal: AbortSignal): AsyncIterable<CompactionUpdate>;
  /** A text of an answer without thoughts between tags and directives for channels; empty for a silent answer. */
  plain(text: string, message: AssistantMessage): string;
  approvals: {
    list(): readonly Approval[];
    /** False when no approval with this id is waiting, or when the waiting one does not offer the answer. */
    resolve(id: string, decision: PersonsAnswer): boolean;
    /** The answers that a waiting approval offers; undefined when none with this id is waiting. */
    offered(id: string): readonly PersonsAnswer[] | undefined;
    /** How a question ended; undefined when no question had this id lately. */
    endOf(id: string): Promise<QuestionEnd | undefined>;
    /** The end to come of a question that waits; undefined when none with this id does. */
    whenEnded(id: string): Promise<QuestionEnd> | undefined;
    /** The questions that ended lately, the last one first. */
    history(): Promise<readonly EndedQuestion[]>;
    /** Asks for a client; undefined when the id is taken. */
    askFor(question: ClientQuestion): Asked | undefined;
  };
}
