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
  /** Who reads a notice about the run. */
  reader(): NoticeReader;
  /** Returns the part of the answer that is for people. The whole answer when unset. */
  readonly filter: AnswerFilter | undefined;
  readonly earlier: EarlierAnswer;
  readonly session?: SessionKey;
  /** What the chat sees of tool calls at this moment; nothing when unset. */
  verbose?(): VerboseLevel;
  /** The id of the session that this answer begins. */
  readonly begins?: string;
  /** How the chat is shown the model's thoughts; not at all when unset. */
  readonly reasons?: "on" | "stream" | undefined;
}

/** What the process before the restart planned of an answer. */
export interface EarlierAnswer {
  readonly rows: readonly OutboxRow[];
  /** The message of its preview. Empty when one may be in the chat whose id nobody knows; undefined without a preview. */
  readonly previewId: string | undefined;
  /** UTF-16 units that the preview had at most. */
  readonly previewLength: number;
}

/** What bringing an answer to a chat may call. */
export interface AnswerPorts {
  readonly outbox: Outbox;
  readonly media: MediaStore;
  readonly closedPaths: readonly string[];
  /** As for `attach`. */
  readonly guestOf: readonly string[];
  /** Is told of each file of the answer that is not attached. */
  refused?(refusal: RefusedAttachment): void;
  readonly clock: Clock;
  /** Everything that is planned for the message by now. */
  plannedRows(): Promise<readonly OutboxRow[]>;
  /** Called when all text before a tool call is planned. */
  textPlanned(callId: string): void;
}
