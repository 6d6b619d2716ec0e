import type { Peer } from "../../types/chat/message.ts";
import type { Approval } from "../../types/run/tool.ts";
import type { DispatchPorts } from "../ports.ts";
import { commandFormOf } from "../command-form.ts";
import { approvalText } from "./approval-text.ts";
import { IN_CHAT } from "./route.ts";

/** One copy of a question: its reply key and its chat. */
export interface Place {
  readonly key: string;
  readonly to: Peer;
  /** The config names the chat; the question is from another one. */
  readonly isTarget: boolean;
}

/** Where a question can be shown. */
export interface Places {
  /** The chat that the question is from, unless the config says otherwise. */
  readonly own: Place | undefined;
  readonly targets: readonly Place[];
  /** Whether the config shows the question in its targets and nowhere else. */
  readonly isOnlyTargets: boolean;
}

type PlacePorts = Pick<DispatchPorts, "settings" | "link" | "isConnecting" | "log">;

/** The chats of a question. Logs each target of the config that cannot be reached. */
export function placesOf(approval: Approval, chat: Peer | undefined, ports: PlacePorts): Places {
  const route = ports.settings().approvalRoute?.(approval, chat) ?? IN_CHAT;
  const fields = { approval: approval.id };
  for (const why of route.unusable) ports.log.warn("approval target not usable", { ...fields, why });
  const own = route.isInChat && chat ? { key: keyOf(approval), to: chat, isTarget: false } : undefined;
  const seen = new Set(own && [nameOf(own.to)]);
  const targets = route.targets.flatMap((to, at): Place[] => {
    if (seen.has(nameOf(to))) return [];
    seen.add(nameOf(to));
    if (ports.link(to) || ports.isConnecting?.(to) === true)
      return [{ key: `${keyOf(approval)}:to:${at}`, to, isTarget: true }];
    ports.log.warn("approval target not connected", { ...fields, channel: to.channel, account: to.account });
    return [];
  });
  return { own, targets, isOnlyTargets: !route.isInChat };
}

const keyOf = ({ id }: Approval): string => `approval:${id}`;

const nameOf = ({ channel, account, chat, thread }: Peer): string =>
  JSON.stringify([channel, account, chat.kind, chat.id, thread]);

/** The question as a chat's people read it. */
export const textAt = (approval: Approval, to: Peer, ports: Pick<DispatchPorts, "link">): string =>
  approvalText(approval, commandFormOf(ports, to));

/** Whether a chat shows the question in one message: a part of several might be overlooked. */
export const fitsAt = (
  approval: Approval,
  { to }: Place,
  ports: Pick<DispatchPorts, "link" | "outbox">,
): Promise<boolean> => ports.outbox.isOneMessage(textAt(approval, to, ports), to);
