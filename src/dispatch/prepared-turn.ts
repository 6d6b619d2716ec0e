import type { UserTurn } from "../harness/request.ts";
import type { Body } from "../prompt/body.ts";
import type { InboxRow } from "../types/journal.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import type { Acting } from "../types/run/principal.ts";
import type { FileFate, RunFacts } from "../types/run/run.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";

/** A turn that is ready to run: claimed, its text made, its files fetched. */
export interface PreparedTurn {
  readonly facts: RunFacts;
  readonly rows: readonly InboxRow[];
  readonly message: InboundMessage;
  readonly kind: TurnKind;
  readonly agent: AgentSettings;
  /** The principal for whom the turn acts, with the facts that rules about tools need; set once. */
  readonly acting: Acting;
  readonly turn: UserTurn;
  readonly body: Body;
  readonly files: readonly FileFate[];
  /** Whether system events are claimed for the turn. */
  readonly hasEvents: boolean;
  /** Set where the turn begins a conversation. */
  readonly isFirst?: true;
}
