import type { Clock } from "../../types/clock.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { MediaStore, OutboxRow } from "../../types/journal.ts";
import type { CommandForm } from "../../types/chat/channel.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { AnswerFilter, TurnKind } from "../../types/run/turn-kind.ts";
import type { ChatStyle } from "../ports.ts";

/** A run whose answer is to be brought to a chat, and what of it is there already. */
export interface AnswerRequest {
  readonly stream: RunStream;
  readonly inboxId: number;
  readonly message: InboundMessage;
  readonly style: ChatStyle;
  readonly agent: AgentSettings;
  readonly media: MediaStore;
  readonly closedPaths: readonly string[] | undefined;
  readonly clock: Clock;
  /** Everything that was planned for this message until now. */
  rowsNow(): Promise<readonly OutboxRow[]>;
  /** Chunks that an earlier boot planned for this message. */
  readonly earlier: readonly OutboxRow[];
  /** The preview of an earlier boot: its message, and the UTF-16 units that it had at most. */
  readonly earlierPreview: { readonly id: string | undefined; readonly length: number };
  /** All that was said before a tool's call is on its way. */
  said(callId: string): void;
  readonly kind: TurnKind;
  /** How people of the chat write commands. */
  readonly commandForm: CommandForm | undefined;
  /** Gives what of the answer is for people; all of it when unset. */
  readonly filter: AnswerFilter | undefined;
}
