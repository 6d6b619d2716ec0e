import type { InboundMessage } from "openclaw/plugin-sdk";
import { isBug, isRefused, reasonOf } from "../failures.ts";
import { readCreated } from "./inbound.ts";
import { memberShape, messagesOf } from "../message-shape.ts";
import type { Member, Message } from "../message-shape.ts";
import { DM, idAt, isLater } from "../places.ts";
import { unasking } from "../bot.ts";
import type { Bot } from "../bot.ts";

/** How much is read after a gap. */
const MOST_CHANNELS = 100;
const PAGES = 10;
const PAGE = 100;

interface Source {
  readonly channel: string;
  /** The person of a direct chat. */
  readonly person?: string;
  readonly guildId?: string | undefined;
}

/**
 * Messages since an epoch millisecond, oldest first: from the known direct chats, and from the channels for which Discord
 * named a newer message. Throws when Discord does not answer.
 */
export async function missedSince(since: number, bot: Bot): Promise<readonly InboundMessage[]> {
  const after = idAt(since);
  const directs = bot.directs.entries().map(([person, channel]): Source => ({ channel, person }));
  const recent = bot.places.since(after).filter(({ guildId }) => guildId !== undefined);
  const channels = recent.map(({ id, guildId }): Source => ({ channel: id, guildId }));
  const left = Math.max(0, directs.length - MOST_CHANNELS) + Math.max(0, channels.length - MOST_CHANNELS);
  if (left > 0) bot.host.log.warn("more channels have missed messages than the adapter reads", { left });
  const sources = [...directs.toReversed().slice(0, MOST_CHANNELS), ...channels.slice(0, MOST_CHANNELS)];
  const members = new Map<string, Member | undefined>();
  const found: InboundMessage[] = [];
  for (const source of sources) {
    for (const message of await messagesIn(source, after, bot)) {
      const member =
        source.guildId === undefined ? undefined : await memberOf(message, source.guildId, { members, bot });
      const place = source.guildId === undefined ? { channel_type: DM } : { guild_id: source.guildId };
      const read = await readMissed({ ...message, ...place, ...(member && { member }) }, bot);
      if (read) found.push(read);
    }
  }
  return found.toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
}

/** Reads a missed message. A message that is misread, or that Discord does not explain, holds up no other. */
async function readMissed(message: Message, bot: Bot): Promise<InboundMessage | undefined> {
  const context = { session: "", now: Date.now() };
  try {
    return await readCreated(message, { ...context, bot });
  } catch (error) {
    if (isBug(error)) {
      bot.host.log.warn("a missed message could not be read and was skipped", { error: String(error) });
      return undefined;
    }
    bot.host.log.warn("a missed message goes on without what Discord does not say", { reason: reasonOf(error) });
    return readCreated(message, { ...context, bot: unasking(bot) });
  }
}

async function messagesIn(source: Source, after: string, bot: Bot): Promise<readonly Message[]> {
  const { channel } = source;
  const all: Message[] = [];
  for (let page = 0, from = after; page < PAGES; page++) {
    const some = await ask(source, from, bot);
    const ordered = messagesOf(some).toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
    all.push(...ordered);
    from = ordered.at(-1)?.id ?? from;
    if (some.length < PAGE) return all;
  }
  bot.host.log.warn("more messages were missed in a channel than the adapter reads", { channel, read: all.length });
  return all;
}

/** Empty where the bot may no longer read. A direct chat that was noted under a wrong channel is read under the right one. */
async function ask({ channel, person, ...source }: Source, after: string, bot: Bot): Promise<readonly unknown[]> {
  try {
    const query = { after, limit: String(PAGE) };
    return await bot.api.ask<unknown[]>("GET", `/channels/${channel}/messages`, { query });
  } catch (error) {
    if (!isRefused(error)) throw error;
    const right = person === undefined ? undefined : await bot.directs.reopen(person, channel);
    return right === undefined ? [] : ask({ ...source, channel: right }, after, bot);
  }
}

/** Messages from the history lack the roles of their authors. */
async function memberOf(
  { author }: Message,
  guildId: string,
  { members, bot }: { members: Map<string, Member | undefined>; bot: Bot },
): Promise<Member | undefined> {
  const name = `${guildId}/${author.id}`;
  if (!members.has(name)) {
    const found = await bot.api
      .ask<unknown>("GET", `/guilds/${guildId}/members/${author.id}`)
      .catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        return undefined;
      });
    members.set(name, memberShape.safeParse(found).data);
  }
  return members.get(name);
}
