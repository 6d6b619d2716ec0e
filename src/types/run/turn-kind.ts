import type { AgentInternalEvent } from "../engine/internal-event.ts";
import type { SessionKey } from "../ids.ts";
import type { Outcome } from "../journal.ts";
import type { InboundMessage, MessageOptions } from "../chat/message.ts";
import type { InputProvenance } from "./model.ts";
import type { Principal } from "./principal.ts";
import type { RunTrigger } from "./run.ts";
import type { FixedCall } from "./tool.ts";
import type { Session, SessionEntry, SessionNote } from "../session.ts";

/** How a turn is run, as its message says. */
interface TurnRunFacts {
  /** The principal of the turn. The writers of its messages when unset. */
  actsFor?(message: Pick<InboundMessage, "options">): Principal;
  /** The only files of the workspace that the system prompt has. All when undefined. */
  promptFiles?(message: InboundMessage): readonly string[] | undefined;
  /** The call that the turn makes instead of asking a model. A model is asked when undefined. */
  call?(message: InboundMessage): FixedCall | undefined;
  /** Text that the system prompt has in addition. Nothing when unset. */
  systemPrompt?(message: InboundMessage): string | undefined;
  /**
   * How many runs may be waiting for this run, each for the one below it; 0 when unset. The runs of each depth have
   * slots of their own: if they shared slots, a waiting run could keep the run that it waits for from beginning.
   */
  depth?(message: Pick<InboundMessage, "options">): number;
  /**
   * Run slots of the kind; those of people when unset. `automation`: the slots of runs that nobody waits for, so that
   * neither group delays the other.
   */
  readonly slots?: "automation";
}

/** Content of a turn's message, where that is more than its text. */
interface TurnContent {
  /** Origin in the turn's transcript entry. A person wrote the turn when unset. */
  readonly provenance?: InputProvenance;
  /** Fields that one message adds to `provenance`. */
  source?(message: InboundMessage): Pick<InputProvenance, "sourceSessionKey" | "sourceTool">;
  /** The events that a message was made from, for context engines. None when unset. */
  events?(message: InboundMessage): readonly AgentInternalEvent[];
  /**
   * Entry of the transcript in place of a message whose prompt it does not keep, when the message joins a turn under
   * way. Nothing when unset.
   */
  note?(message: InboundMessage): SessionNote;
  /** Text for the `System:` lines of the turn. */
  news?(message: InboundMessage): string | undefined;
  /** Whether the message begins no turn: its news waits for the next one of its conversation. */
  isForNextTurn?(message: Pick<InboundMessage, "options">): boolean;
  /**
   * Completes a message whose text the journal does not have. Asked before its turn begins, or before it joins one; again after a
   * restart. With `dropped` there is nothing to say, for this reason.
   */
  load?(message: InboundMessage): Promise<InboundMessage | { readonly dropped: string }>;
}

/**
 * Why a turn exists, and everything that the gateway does differently because of it: one row of a table. Code that needs
 * to know asks the row for the property, never for its name.
 */
export interface TurnKind extends TurnRunFacts, TurnContent {
  /** As in `MessageOptions.kind`. */
  readonly name: string;
  /** Cause that receipts, metrics and costs name. */
  readonly trigger: RunTrigger;
  /** Whether a text that begins with `/` is a command. */
  readonly takesCommands: boolean;
  /**
   * How the turn meets a busy session. `by_mode`: as the queue mode says. `joins`: so too, but the turn interrupts
   * nothing, waits for what people write meanwhile, and is merged with its like alone. `alone`: the turn waits, is
   * never merged, steers no turn, is not steered into, and interrupts nothing.
   */
  readonly queue: "by_mode" | "joins" | "alone";
  /**
   * How a queue over its cap treats these turns. `first`: they leave before any turn that a person wrote. `never`: they
   * do not count.
   */
  readonly overCap: "by_config" | "first" | "never";
  /**
   * Whether the transcript keeps the turn. `when_replied`: the conversation continues without a turn that replied
   * nothing.
   */
  readonly transcript: "always" | "when_replied" | "never";
  /**
   * Whether the turn counts as a use of its conversation: it moves `updatedAt` and the chat's facts, and may begin a
   * new conversation after idle time.
   */
  readonly isUse: boolean;
  /**
   * Who answers approval questions. `writer`: the writer, in their chat or at their client. `chat`: anybody who reads
   * the chat that gets the answer. `clients`: anybody who has a client open. `nobody`: a question is a denial.
   */
  readonly asks: "writer" | "chat" | "clients" | "nobody";
  /** Where a refusal goes: `shown` to the chat or client, or `logged` because nobody waits for an answer. */
  readonly refusals: "shown" | "logged";
  /** Whether blocks and previews may leave before the answer is whole. */
  readonly answer: "streamed" | "whole";
  /** Work that follows the answer under the session's lock: `full` is memory flush and compaction. */
  readonly maintenance: "full" | "none";

  /** Called once before the first run of a turn, under the session's lock. Rejects when the transcript cannot be written. */
  begin?(turn: TurnRef, session: Session): Promise<void>;
  /** Filter that leaves the part of the answer that is for people. The whole answer when unset. */
  filter?(message: InboundMessage, entry: Readonly<SessionEntry>, now: number): AnswerFilter | undefined;
  /**
   * Treatment of a turn that is given up, because several processes ended during it. The sender of a message is asked to
   * send the message again when unset.
   */
  readonly givenUp?: GivenUp;
  /** Called after the outcome is recorded, under the session's lock. Rejects when something cannot be written. */
  end?(turn: EndedTurnRef, session: Session, ports: TurnEndPorts): Promise<void>;
}

/** Takes an answer's text and gives the text for people; empty when there is none. */
export type AnswerFilter = (text: string) => string;

export interface GivenUp {
  /** Notice for the chat. */
  readonly notice: string;
  /** Keeps the text of this turn for the next one. Rejects when it cannot be written. */
  keep(messages: readonly InboundMessage[], session: Session): Promise<void>;
}

export interface TurnRef {
  readonly message: InboundMessage;
  /** Transcript entry of the turn. */
  readonly turnId: string;
}

export interface EndedTurnRef extends TurnRef {
  /** All messages of the turn. */
  readonly messages: readonly InboundMessage[];
  readonly outcome: Outcome;
  /** The answer's messages without directives, joined; see `filter`. */
  readonly text: string;
  /** When the session was last used before the turn; epoch milliseconds. */
  readonly usedAt: number;
}

/** The ports of a kind when its turn has ended. */
export interface TurnEndPorts {
  now(): number;
  /** Puts news before the next turn of a conversation. Resolves when it is durable. */
  addEvent(key: SessionKey, text: string): Promise<void>;
  /** The conversation continues without the turn. */
  abandon(session: Session, turnId: string, why: string): Promise<void>;
  /** Appends to the transcript of another conversation as soon as that session is free. */
  note(key: SessionKey, note: SessionNote): void;
}

/** The kinds that this gateway knows. */
export interface TurnKinds {
  /** The kind of a message's turn. A kind that is not known here is a row without rights, see `isKnown`. */
  of(message: Pick<InboundMessage, "options">): TurnKind;
  /** False for a message of a kind that this gateway does not know: it must not run. */
  isKnown(message: Pick<InboundMessage, "options">): boolean;
}

/** The kind of turn that a message of the journal names. Rows of older versions have `heartbeat` without `kind`. */
export function kindNameOf(options: MessageOptions | undefined): string {
  return options?.kind ?? (options?.heartbeat === undefined ? "message" : "heartbeat");
}
