/** `openclaw/plugin-sdk/command-auth`: a channel's own check of a sender. The gateway's rules are applied after it. */

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

/** What becomes of a direct message by the channel's own lists; messages of groups are always `allowed`. */
export function resolveDirectDmAuthorizationOutcome(asked: {
  readonly isGroup: boolean;
  readonly dmPolicy: string;
  readonly senderAllowedForCommands: boolean;
}): "allowed" | "disabled" | "unauthorized" {
  if (asked.isGroup) return "allowed";
  if (asked.dmPolicy === "disabled") return "disabled";
  return asked.dmPolicy === "open" || asked.senderAllowedForCommands ? "allowed" : "unauthorized";
}
