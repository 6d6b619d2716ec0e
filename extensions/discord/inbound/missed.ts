import type { APIGuildMember, APIMessage } from "discord-api-types/v10";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { isRefused } from "../failures.ts";
import { readMessage } from "./inbound.ts";
import { idAt, isLater } from "./places.ts";
import type { Bot } from "../bot.ts";

/** How much is asked for after a gap. */
const MOST_CHANNELS = 100;
const PAGES = 10;
const PAGE = 100;

interface Where {
  readonly channel: string;
  readonly guildId?: string | undefined;
}

/**
 * Messages since an epoch millisecond, oldest first: of the direct chats that were ever active, and of the channels that
 * Discord named with something newer. Throws when Discord cannot be asked.
 */
export async function missedSince(since: number, bot: Bot): Promise<readonly InboundMessage[]> {
  const after = idAt(since);
  const directs = bot.directs.entries().map(([, channel]): Where => ({ channel }));
  const lively = bot.places.since(after).filter(({ guildId }) => guildId !== undefined);
  const channels = lively.map(({ id, guildId }): Where => ({ channel: id, guildId }));
  const left = Math.max(0, directs.length - MOST_CHANNELS) + Math.max(0, channels.length - MOST_CHANNELS);
  if (left > 0) bot.host.log.warn("more channels have something new than are asked for what was missed", { left });
  const wheres = [...directs.toReversed().slice(0, MOST_CHANNELS), ...channels.slice(0, MOST_CHANNELS)];
  const members = new Map<string, APIGuildMember | undefined>();
  const found: InboundMessage[] = [];
  for (const where of wheres) {
    for (const message of await messagesIn(where, after, bot)) {
      const member = where.guildId === undefined ? undefined : await memberOf(message, where.guildId, { members, bot });
      const told = { ...message, ...(member && { member }), ...(where.guildId && { guild_id: where.guildId }) };
      const read = await readMessage(told, { bot, session: "", now: Date.now() });
      if (read) found.push(read);
    }
  }
  return found.toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
}

async function messagesIn({ channel }: Where, after: string, bot: Bot): Promise<readonly APIMessage[]> {
  const all: APIMessage[] = [];
  for (let page = 0, from = after; page < PAGES; page++) {
    const some = await ask(channel, from, bot);
    const ordered = some.toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
    all.push(...ordered);
    from = ordered.at(-1)?.id ?? from;
    if (some.length < PAGE) return all;
  }
  bot.host.log.warn("more was missed in a channel than is asked for", { channel, asked: all.length });
  return all;
}

/** Empty where the bot may not read any more. */
async function ask(channel: string, after: string, bot: Bot): Promise<readonly APIMessage[]> {
  try {
    const query = { after, limit: String(PAGE) };
    return await bot.api.ask<APIMessage[]>("GET", `/channels/${channel}/messages`, { query });
  } catch (error) {
    if (!isRefused(error)) throw error;
    return [];
  }
}

/** Messages from history say nothing of the roles of who wrote them. */
async function memberOf(
  { author }: APIMessage,
  guildId: string,
  { members, bot }: { members: Map<string, APIGuildMember | undefined>; bot: Bot },
): Promise<APIGuildMember | undefined> {
  const name = `${guildId}/${author.id}`;
  if (!members.has(name)) {
    const member = await bot.api
      .ask<APIGuildMember>("GET", `/guilds/${guildId}/members/${author.id}`)
      .catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        return undefined;
      });
    members.set(name, member);
  }
  return members.get(name);
}
