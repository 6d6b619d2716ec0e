import type { Outbox } from "../../outbox/deliver.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { Clock } from "../../types/clock.ts";
import type { MediaStore, OutboxRow } from "../../types/journal.ts";
import type { AnswerFilter, TurnKind } from "../../types/run/turn-kind.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { RefusedAttachment } from "../../types/run/run.ts";
import type { VerboseLevel } from "../../types/run/verbose.ts";
import type { NoticeReader } from "../notices/chat-texts.ts";
import type { ChatStyle } from "../settings.ts";

/** The message that is answered, its chat, and the part of the answer that was planned before a restart. */
export interface AnswerTarget {
  readonly inboxId: number;
  readonly message: InboundMessage;
  readonly kind: TurnKind;
  readonly agent: AgentSettings;
  readonly style: ChatStyle;
  /** The reader of a notice about the run. */
  reader(): NoticeReader;
  /** Returns the part of the answer that is for people. The whole answer when unset. */
  readonly filter: AnswerFilter | undefined;
  readonly earlier: EarlierAnswer;
  readonly session?: SessionKey;
  /** How much of the tool calls the chat sees at this moment; nothing when unset. */
  verbose?(): VerboseLevel;
  /** The id of the session that this answer begins. */
  readonly begins?: string;
  /** How the chat is shown the model's thoughts; not at all when unset. */
  readonly reasons?: "on" | "stream" | undefined;
}

/** The part of an answer that the process before the restart planned. */
export interface EarlierAnswer {
  readonly rows: readonly OutboxRow[];
  /**
   * The id of the preview's message. Empty when a preview with an unknown id may be in the chat; undefined without a
   * preview.
   */
  readonly previewId: string | undefined;
  /** The greatest length that the preview had, in UTF-16 units. */
  readonly previewLength: number;
}

/** The ports with which an answer is brought to its chat. */
export interface AnswerPorts {
  readonly outbox: Outbox;
  readonly media: MediaStore;
  readonly closedPaths: readonly string[];
  /** Workspaces of which a guest's turn sends only files that guests may read, as for `attach`. */
  readonly guestOf: readonly string[];
  /** Called for each file of the answer that is not attached. */
  refused?(refusal: RefusedAttachment): void;
  readonly clock: Clock;
  /** The outbox rows that are planned for the message by now. */
  plannedRows(): Promise<readonly OutboxRow[]>;
  /** Called when all text before a tool call is planned. */
  textPlanned(callId: string): void;
}
