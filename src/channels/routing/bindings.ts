import { z } from "zod";
import type { InboundMessage } from "../../types/chat/message.ts";
import { about, idList } from "../../utils/config.ts";

const match = z.strictObject({
  channel: z.string().min(1).meta(about("Channel", "The platform, such as `telegram`.")),
  accountId: z
    .string()
    .optional()
    .meta(about("Account", "Account of the channel; `*` for every account. The default account when unset.")),
  peer: z
    .strictObject({
      kind: z
        .enum(["direct", "group", "channel", "dm"])
        .meta(about("Kind", "`channel` means `group`, `dm` means `direct`.")),
      id: z
        .union([z.string(), z.number()])
        .transform(String)
        .meta(about("Id", "Id of the chat, the thread, or the sender of a direct chat; `*` for all of the kind.")),
    })
    .optional()
    .meta(about("Chat", "One chat, or one thread of a chat.")),
  guildId: z.string().optional().meta(about("Guild", "A Discord server.")),
  teamId: z.string().optional().meta(about("Team", "A Slack workspace.")),
  roles: idList.optional().meta(about("Roles", "Senders with any of these role ids in the guild.")),
});

/** `bindings` */
export const bindingsConfig = z.array(
  z.strictObject({
    type: z
      .enum(["route", "acp"])
      .optional()
      .meta(about("Type", "`route`. Rows of the type `acp` have no effect yet.")),
    agentId: z.string().min(1).meta(about("Agent", "Id of the agent that answers.")),
    comment: z.string().optional().meta(about("Comment", "Comment for people.")),
    match: match.meta(about("Match", "Conditions for messages; all of them must hold.")),
    session: z
      .strictObject({
        dmScope: z
          .enum(["per-channel-peer", "per-account-channel-peer", "per-peer", "main"])
          .optional()
          .meta(about("Direct chats", "As in `session.dmScope`, for these messages.")),
      })
      .optional()
      .meta(about("Sessions", "Session settings for these messages.")),
  }),
);

export type Binding = z.output<typeof bindingsConfig>[number];

/** The part of a message that bindings match. */
export type Routed = Pick<InboundMessage, "from" | "sender" | "guildId" | "teamId">;

/** Parts of a message that a binding can match, from the most specific to the least. */
const TIERS = [
  "chat",
  "chat around the thread",
  "any chat of the kind",
  "roles",
  "guild",
  "team",
  "account",
  "channel",
] as const;
export type BindingTier = (typeof TIERS)[number];

/** How one binding fits a message: by its tier, or the first field that does not hold. */
export type BindingFit = {
  /** Place in the list. */
  readonly at: number;
  readonly binding: Binding;
} & ({ readonly tier: BindingTier } | { readonly misfit: keyof Match });

/**
 * The most specific binding that matches. The order is: the chat or thread, the chat around a thread, any chat of a kind, a guild
 * with roles, a guild, a team, an account, the whole channel. The first of several equal ones wins. Undefined when none matches.
 */
export function bindingFor(bindings: readonly Binding[], message: Routed, defaultAccount: string): Binding | undefined {
  let best: { readonly binding: Binding; readonly rank: number } | undefined;
  for (const binding of bindings) {
    const tier = isRoute(binding) ? tierOf(binding.match, message, defaultAccount) : undefined;
    const rank = tier === undefined ? TIERS.length : TIERS.indexOf(tier);
    if (rank < (best?.rank ?? TIERS.length)) best = { binding, rank };
  }
  return best?.binding;
}

/** How each binding fits a message, in the order of the list: what `bindingFor` goes by. */
export const fitBindings = (
  bindings: readonly Binding[],
  message: Routed,
  defaultAccount: string,
): readonly BindingFit[] =>
  bindings.flatMap((binding, at): readonly BindingFit[] => {
    if (!isRoute(binding)) return [];
    const tier = tierOf(binding.match, message, defaultAccount);
    if (tier !== undefined) return [{ at, binding, tier }];
    return [{ at, binding, misfit: misfitOf(binding.match, message, defaultAccount) ?? "peer" }];
  });

/**
 * The place of an earlier binding that is chosen for every message that this one matches; undefined when there is none. Bindings of
 * another tier are not compared.
 */
export function coveringBinding(
  bindings: readonly Binding[],
  at: number,
  defaultAccount: (channel: string) => string,
): number | undefined {
  const own = bindings[at];
  if (!own || !isRoute(own)) return undefined;
  const account = defaultAccount(own.match.channel);
  const found = bindings
    .slice(0, at)
    .findIndex((other) => isRoute(other) && isCovered(own.match, other.match, account));
  return found < 0 ? undefined : found;
}

function isCovered(own: Match, other: Match, account: string): boolean {
  const place = ({ channel, accountId = account, guildId, teamId }: Match) => [channel, accountId, guildId, teamId];
  const isSamePlace = JSON.stringify(place(own)) === JSON.stringify(place(other));
  return isSamePlace && areCovered(own.roles, other.roles) && isSamePeer(own.peer, other.peer, own.channel);
}

function areCovered(own: Match["roles"], other: Match["roles"]): boolean {
  if (!own || !other) return own === other;
  return own.every((role) => other.includes(role));
}

function isSamePeer(one: Match["peer"], other: Match["peer"], channel: string): boolean {
  if (!one || !other) return one === other;
  const idOf = ({ id }: typeof one): string => plainPeerId(id, channel).toLowerCase();
  return KINDS[one.kind] === KINDS[other.kind] && idOf(one) === idOf(other);
}

/** The id of a peer without the channel and the kind that people write before it, as in `telegram:-1002` and `group:-1002`. */
export const plainPeerId = (id: string, channel: string): string => {
  const own = id.trim();
  const bare = own.toLowerCase().startsWith(`${channel}:`) ? own.slice(channel.length + 1) : own;
  return bare.replace(/^(?:user|direct|dm|group|channel):/i, "");
};

/** Whether a binding chooses the agent that answers. Other kinds have no effect here. */
export const isRoute = ({ type }: Binding): boolean => type !== "acp";

type Match = Binding["match"];

const KINDS = { direct: "direct", dm: "direct", group: "group", channel: "group" } as const;

/** Undefined: does not match. */
function tierOf(wanted: Match, message: Routed, defaultAccount: string): BindingTier | undefined {
  if (misfitOf(wanted, message, defaultAccount) !== undefined) return undefined;
  if (wanted.peer) return peerTier(wanted.peer, message);
  if (wanted.roles) return "roles";
  if (wanted.guildId !== undefined) return "guild";
  if (wanted.teamId !== undefined) return "team";
  return wanted.accountId === "*" ? "channel" : "account";
}

/** The first field that does not hold. */
function misfitOf(wanted: Match, message: Routed, defaultAccount: string): keyof Match | undefined {
  const { peer } = wanted;
  return misfitOfPlace(wanted, message, defaultAccount) ?? (peer && !peerTier(peer, message) ? "peer" : undefined);
}

function misfitOfPlace(wanted: Match, message: Routed, defaultAccount: string): keyof Match | undefined {
  const { channel, account } = message.from;
  const { accountId = defaultAccount, guildId, teamId, roles } = wanted;
  if (wanted.channel !== channel) return "channel";
  if (accountId !== "*" && accountId !== account) return "accountId";
  if (guildId !== undefined && guildId !== message.guildId) return "guildId";
  if (teamId !== undefined && teamId !== message.teamId) return "teamId";
  return roles && !roles.some((role) => message.sender.roles?.includes(role)) ? "roles" : undefined;
}

function peerTier(peer: NonNullable<Match["peer"]>, { from, sender }: Routed): BindingTier | undefined {
  const kind = KINDS[peer.kind];
  if (kind !== from.chat.kind) return undefined;
  if (peer.id === "*") return "any chat of the kind";
  const { chat, thread } = from;
  const wanted = plainPeerId(peer.id, from.channel).toLowerCase();
  const names = (...ids: readonly (string | undefined)[]): boolean => ids.some((id) => id?.toLowerCase() === wanted);
  if (thread !== undefined && names(thread, `${chat.id}:topic:${thread}`, `${chat.id}:thread:${thread}`)) return "chat";
  if (!names(chat.id) && !(kind === "direct" && names(sender.id, sender.e164))) return undefined;
  return thread === undefined ? "chat" : "chat around the thread";
}
