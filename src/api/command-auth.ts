/**
 * `openclaw/plugin-sdk/command-auth`: a channel's own check of a sender, after which the gateway's rules are applied, and
 * commands that a channel gives for its buttons and menus.
 */
import { COMMAND_NAMES } from "../dispatch/commands/table.ts";
import { pluginHost } from "../plugins/host-slot.ts";

type Config = Readonly<Record<string, unknown>>;

/** `runtime.channel.commands` of a plugin. */
export interface CommandAuthorizationRuntime {
  shouldComputeCommandAuthorized(rawBody: string, config: Config): boolean;
  resolveCommandAuthorizedFromAuthorizers(request: {
    readonly useAccessGroups: boolean;
    readonly authorizers: readonly { readonly configured: boolean; readonly allowed: boolean }[];
  }): boolean;
}

export interface SenderCommandAuthorization {
  readonly cfg: Config;
  readonly rawBody: string;
  readonly isGroup: boolean;
  readonly dmPolicy: string;
  readonly configuredAllowFrom: readonly string[];
  readonly configuredGroupAllowFrom?: readonly string[];
  readonly senderId: string;
  isSenderAllowed(senderId: string, allowFrom: string[]): boolean;
  readAllowFromStore(): Promise<readonly string[]>;
  readonly runtime: CommandAuthorizationRuntime;
}

/** Whether the sender is allowed by the channel's lists, and so may give commands; undefined where the text is none. */
export async function resolveSenderCommandAuthorizationWithRuntime(asked: SenderCommandAuthorization): Promise<{
  shouldComputeAuth: boolean;
  effectiveAllowFrom: string[];
  effectiveGroupAllowFrom: string[];
  senderAllowedForCommands: boolean;
  commandAuthorized: boolean | undefined;
}> {
  const { cfg, rawBody, isGroup, senderId, runtime } = asked;
  const effectiveAllowFrom = [...asked.configuredAllowFrom, ...(await storedOf(asked))];
  const effectiveGroupAllowFrom = [...(asked.configuredGroupAllowFrom ?? [])];
  const allowFrom = isGroup ? effectiveGroupAllowFrom : effectiveAllowFrom;
  const senderAllowedForCommands = asked.isSenderAllowed(senderId, allowFrom);
  const shouldComputeAuth = runtime.shouldComputeCommandAuthorized(rawBody, cfg);
  const authorizers = [{ configured: allowFrom.length > 0, allowed: senderAllowedForCommands }];
  const commandAuthorized = shouldComputeAuth
    ? runtime.resolveCommandAuthorizedFromAuthorizers({ useAccessGroups: true, authorizers })
    : undefined;
  return {
    shouldComputeAuth,
    effectiveAllowFrom,
    effectiveGroupAllowFrom,
    senderAllowedForCommands,
    commandAuthorized,
  };
}

/** The stored list counts in direct chats whose policy lets people in one by one. */
const storedOf = async ({ isGroup, dmPolicy, readAllowFromStore }: SenderCommandAuthorization) =>
  isGroup || dmPolicy === "allowlist" || dmPolicy === "open" ? [] : readAllowFromStore();

/** Decision about a direct message by the channel's own lists; messages of groups are always `allowed`. */
export function resolveDirectDmAuthorizationOutcome(asked: {
  readonly isGroup: boolean;
  readonly dmPolicy: string;
  readonly senderAllowedForCommands: boolean;
}): "allowed" | "disabled" | "unauthorized" {
  if (asked.isGroup) return "allowed";
  if (asked.dmPolicy === "disabled") return "disabled";
  return asked.dmPolicy === "open" || asked.senderAllowedForCommands ? "allowed" : "unauthorized";
}

export interface NativeCommand {
  readonly agentId: string;
  /** The first part of the command's own session, such as `chat:button`. */
  readonly sessionPrefix: string;
  readonly userId: string;
  /** The conversation that the command is for. */
  readonly targetSessionKey: string;
  /** The conversation that the chat is bound to; it takes the place of both. */
  readonly boundSessionKey?: string;
  readonly lowercaseSessionKey?: boolean;
}

/**
 * The sessions of a command that a button or menu gives: its own, and `CommandTargetSessionKey`, the session that the
 * command is for.
 */
export function resolveNativeCommandSessionTargets(command: NativeCommand): {
  sessionKey: string;
  commandTargetSessionKey: string;
} {
  const { agentId, sessionPrefix, userId, targetSessionKey, boundSessionKey, lowercaseSessionKey } = command;
  const key = boundSessionKey ?? `agent:${agentId}:${sessionPrefix}:${userId}`;
  return {
    sessionKey: lowercaseSessionKey === true ? key.toLowerCase() : key,
    commandTargetSessionKey: boundSessionKey ?? targetSessionKey,
  };
}

/** `/name` in lower case for a text that is a command of the gateway or of a plugin, else null. */
export function maybeResolveTextAlias(text: string, _config?: Config): string | null {
  const name = /^\/([a-z][\w-]*)(?:@\S+)?(?=[\s:]|$)/i.exec(text.trim())?.[1]?.toLowerCase();
  if (name === undefined) return null;
  return COMMAND_NAMES.includes(name) || pluginHost()?.commandNames().includes(name) === true ? `/${name}` : null;
}
