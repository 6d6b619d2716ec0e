import { isMainKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { DispatchSettings } from "../settings.ts";
import { NOT_OWNER } from "../notices/chat-texts.ts";
import type { CommandAccess } from "../../types/contribution.ts";
import type { DispatchPorts } from "../ports.ts";

/** The part of a typed command that decides who may use it. */
interface AskedName {
  readonly command: { readonly name: string; readonly who: CommandAccess };
  readonly args: string;
}

interface Asking {
  readonly message: InboundMessage;
  readonly key: SessionKey;
}

type Rules = Pick<DispatchSettings, "agentOf" | "isOwner" | "mayApprove" | "mayCommand" | "mayElevate">;

/**
 * Whether the text of a message may hold commands. Somebody else wrote the text of a forwarded message, so it never
 * does. Pure.
 */
export const mayHoldCommands = (message: InboundMessage, { kinds }: Pick<DispatchPorts, "kinds">): boolean =>
  kinds.of(message).takesCommands && message.context?.isForwarded !== true;

/** The answer to a sender who may not use a command. Undefined when they may. Pure. */
export function refusalOf(asked: AskedName, asking: Asking, settings: Rules): string | undefined {
  const { message, key } = asking;
  if (asked.command.name === "elevated" && settings.mayElevate?.(message, settings.agentOf(key)) !== true)
    return "You may not let commands leave the sandbox. (`tools.elevated` says who may.)";
  if (asked.command.name === "approve" && settings.mayApprove?.(message) === true) return undefined;
  return settings.isOwner(message) ? undefined : guestsRefusal(asked, asking, settings);
}

function guestsRefusal({ command, args }: AskedName, { message, key }: Asking, settings: Rules): string | undefined {
  const isListed = settings.mayCommand?.(message);
  if (isListed === false) return "You may not use commands here. (`commands.allowFrom` names who may.)";
  if (command.who === "anyone") return undefined;
  if (command.who === "owner") return `${NOT_OWNER} (\`commands.ownerAllowFrom\` names them.)`;
  if (command.name === "model" && args.includes("@"))
    return "Only an owner may choose the key of a model. (`commands.ownerAllowFrom` names owners.)";
  if (isListed === true || isOwn(message, key) || READ_ONLY.has(`${command.name} ${args}`.trim())) return undefined;
  return `Only an owner may use /${command.name} in a conversation of several people. (\`commands.ownerAllowFrom\` names owners.)`;
}

/**
 * Whether the sender may end the work that others asked for: in a conversation of several people, people who are
 * neither owners nor listed end no turn of an owner. Pure.
 */
export const mayEndAll = ({ message, key }: Asking, settings: Pick<Rules, "isOwner" | "mayCommand">): boolean =>
  settings.isOwner(message) || settings.mayCommand?.(message) === true || isOwn(message, key);

/**
 * Whether the conversation is the sender's own: a direct chat, unless all direct chats share the operator's
 * conversation.
 */
const isOwn = ({ from }: InboundMessage, key: SessionKey): boolean => from.chat.kind === "direct" && !isMainKey(key);

/** Commands that change nothing. */
const READ_ONLY = new Set([
  "model",
  "model status",
  "model list",
  "think",
  "queue",
  "verbose",
  "usage",
  "activation",
  "context",
  "context list",
]);
