import { z } from "zod";
import type { InboundMessage } from "../types/chat/message.ts";
import { about, idList } from "../utils/config.ts";

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

/**
 * The most specific binding that matches. The order is: the chat or thread, the chat around a thread, any chat of a kind, a guild
 * with roles, a guild, a team, an account, the whole channel. The first of several equal ones wins. Undefined when none matches.
 */
export function bindingFor(bindings: readonly Binding[], message: Routed, defaultAccount: string): Binding | undefined {
  const ranked = bindings
    .filter(isRoute)
    .map((binding) => ({ binding, rank: rankOf(binding.match, message, defaultAccount) }));
  return ranked.reduce<(typeof ranked)[number] | undefined>(
    (best, next) => (next.rank > (best?.rank ?? 0) ? next : best),
    undefined,
  )?.binding;
}

/** Whether a binding chooses the agent that answers. Other kinds have no effect here. */
export const isRoute = ({ type }: Binding): boolean => type !== "acp";

type Match = Binding["match"];

/** 0: does not match. */
function rankOf(wanted: Match, message: Routed, defaultAccount: string): number {
  const { channel, account } = message.from;
  const { accountId = defaultAccount, guildId, teamId, roles, peer } = wanted;
  if (wanted.channel !== channel || (accountId !== "*" && accountId !== account)) return 0;
  if (guildId !== undefined && guildId !== message.guildId) return 0;
  if (teamId !== undefined && teamId !== message.teamId) return 0;
  if (roles && !roles.some((role) => message.sender.roles?.includes(role))) return 0;
  if (peer) return peerRank(peer, message);
  return placeRank(wanted);
}

function placeRank({ guildId, teamId, roles, accountId }: Match): number {
  if (roles) return 6;
  if (guildId !== undefined) return 5;
  if (teamId !== undefined) return 4;
  return accountId === "*" ? 2 : 3;
}

function peerRank(peer: NonNullable<Match["peer"]>, { from, sender }: Routed): number {
  const kind = { direct: "direct", dm: "direct", group: "group", channel: "group" }[peer.kind];
  if (kind !== from.chat.kind) return 0;
  if (peer.id === "*") return 7;
  const { chat, thread } = from;
  const wanted = peer.id.toLowerCase();
  const names = (...ids: readonly (string | undefined)[]): boolean => ids.some((id) => id?.toLowerCase() === wanted);
  if (thread !== undefined && names(thread, `${chat.id}:topic:${thread}`, `${chat.id}:thread:${thread}`)) return 9;
  if (!names(chat.id) && !(kind === "direct" && names(sender.id, sender.e164))) return 0;
  return thread === undefined ? 9 : 8;
}
