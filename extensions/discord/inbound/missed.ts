import type { APIGuildMember, APIMessage } from "discord-api-types/v10";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { isRefused } from "../failures.ts";
import { readMessage } from "./inbound.ts";
import { idAt, isLater } from "./places.ts";
import type { Bot } from "../bot.ts";

/** How much is read after a gap. */
const MOST_CHANNELS = 100;
const PAGES = 10;
const PAGE = 100;

interface Source {
  readonly channel: string;
  readonly guildId?: string | undefined;
}

/**
 * Messages since an epoch millisecond, oldest first: from the known direct chats, and from the channels for which Discord
 * named a newer message. Throws when Discord does not answer.
 */
export async function missedSince(since: number, bot: Bot): Promise<readonly InboundMessage[]> {
  const after = idAt(since);
  const directs = bot.directs.entries().map(([, channel]): Source => ({ channel }));
  const recent = bot.places.since(after).filter(({ guildId }) => guildId !== undefined);
  const channels = recent.map(({ id, guildId }): Source => ({ channel: id, guildId }));
  const left = Math.max(0, directs.length - MOST_CHANNELS) + Math.max(0, channels.length - MOST_CHANNELS);
  if (left > 0) bot.host.log.warn("more channels have missed messages than the adapter reads", { left });
  const sources = [...directs.toReversed().slice(0, MOST_CHANNELS), ...channels.slice(0, MOST_CHANNELS)];
  const members = new Map<string, APIGuildMember | undefined>();
  const found: InboundMessage[] = [];
  for (const source of sources) {
    for (const message of await messagesIn(source, after, bot)) {
      const member =
        source.guildId === undefined ? undefined : await memberOf(message, source.guildId, { members, bot });
      const event = { ...message, ...(member && { member }), ...(source.guildId && { guild_id: source.guildId }) };
      const read = await readMessage(event, { bot, session: "", now: Date.now() });
      if (read) found.push(read);
    }
  }
  return found.toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
}

async function messagesIn({ channel }: Source, after: string, bot: Bot): Promise<readonly APIMessage[]> {
  const all: APIMessage[] = [];
  for (let page = 0, from = after; page < PAGES; page++) {
    const some = await ask(channel, from, bot);
    const ordered = some.toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
    all.push(...ordered);
    from = ordered.at(-1)?.id ?? from;
    if (some.length < PAGE) return all;
  }
  bot.host.log.warn("more messages were missed in a channel than the adapter reads", { channel, read: all.length });
  return all;
}

/** Empty where the bot may no longer read. */
async function ask(channel: string, after: string, bot: Bot): Promise<readonly APIMessage[]> {
  try {
    const query = { after, limit: String(PAGE) };
    return await bot.api.ask<APIMessage[]>("GET", `/channels/${channel}/messages`, { query });
  } catch (error) {
    if (!isRefused(error)) throw error;
    return [];
  }
}

/** Messages from the history lack the roles of their authors. */
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
