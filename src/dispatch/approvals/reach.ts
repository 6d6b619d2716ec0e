import type { Peer } from "../../types/chat/message.ts";
import { hasOwnerRights, type Principal } from "../../types/run/principal.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { Unasked } from "../../types/run/unasked.ts";
import type { DispatchPorts } from "../ports.ts";

/** The turn that asks. */
interface Asking {
  readonly asks: TurnKind["asks"];
  /** The chat that is shown the question; unset for clients, which show it themselves. */
  readonly chat?: Peer | undefined;
  readonly principal: Principal | undefined;
}

export type ReachPorts = Pick<DispatchPorts, "approverClients" | "settings">;

/** Why nobody could answer a question now; undefined when somebody could, in the chat or at a connected client. */
export function whyNobody(asking: Asking, ports: ReachPorts): Unasked | undefined {
  if (asking.asks === "nobody") return "unattended";
  const clients = ports.approverClients?.();
  return clients === 0 ? whyNobodyInChat(asking, ports) : undefined;
}

/** Whether an owner is in a group is not known, so one who can write in its channel counts as there. */
function whyNobodyInChat({ asks, chat, principal }: Asking, { settings }: ReachPorts): Unasked | undefined {
  if (!chat) return asks === "writer" ? "no_client" : "unattended";
  if (settings().hasOwnerIn?.(chat.channel) === false) return "no_owner";
  const isRead = chat.chat.kind === "group" || (principal !== undefined && hasOwnerRights(principal));
  return isRead ? undefined : "no_viewer";
}
