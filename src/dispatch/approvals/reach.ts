import type { Peer } from "../../types/chat/message.ts";
import { hasOwnerRights, type Principal } from "../../types/run/principal.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { Unasked } from "../../types/run/unasked.ts";
import type { DispatchPorts } from "../ports.ts";

/** The turn that asks, and where its question can be shown. */
interface Reach {
  readonly asks: TurnKind["asks"];
  /** The chat that is shown the question; unset for clients, which show it themselves. */
  readonly chat?: Peer | undefined;
  readonly principal: Principal | undefined;
  /** Other chats that are shown the question. */
  readonly targets: readonly Peer[];
  /** Whether no other chat than `targets` is shown the question. */
  readonly isOnlyTargets: boolean;
}

export type ReachPorts = Pick<DispatchPorts, "program" | "settings">;

/** Why nobody could answer a question now; undefined when somebody could, in a chat or at a connected client. */
export function whyNobody(reach: Reach, ports: ReachPorts): Unasked | undefined {
  if (reach.asks === "nobody") return "unattended";
  if (ports.program.approverClients() !== 0) return undefined;
  const { hasApproverIn } = ports.settings();
  // The readers of a target are not known, so everybody who may answer in its channel counts as present.
  if (reach.targets.some(({ channel }) => hasApproverIn?.(channel) !== false)) return undefined;
  return reach.isOnlyTargets ? "no_target" : whyNobodyInChat(reach, ports);
}

/**
 * Why nobody could answer in the chat. The members of a group are not known, so an owner who can write in its channel
 * counts as present.
 */
function whyNobodyInChat({ asks, chat, principal }: Reach, { settings }: ReachPorts): Unasked | undefined {
  if (!chat) return asks === "writer" ? "no_client" : "unattended";
  if (settings().hasApproverIn?.(chat.channel) === false) return "no_owner";
  const isRead = chat.chat.kind === "group" || (principal !== undefined && hasOwnerRights(principal));
  return isRead ? undefined : "no_viewer";
}
