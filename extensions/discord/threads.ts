import { BoundedMap } from "openclaw/plugin-sdk";
import type { MessageContext } from "openclaw/plugin-sdk";
import type { Api, Self } from "./api.ts";
import type { DiscordConfig } from "./config.ts";
import { isRefused } from "./failures.ts";
import { isLater } from "./places.ts";
import type { Place, Places } from "./places.ts";
import { messageShape, messagesOf } from "./message-shape.ts";
import type { Message } from "./message-shape.ts";
import { nameOf, wholeText } from "./text.ts";

const MOST_THREADS = 500;
/** Discord's maximum for one page. */
const MOST_LINES = 100;
/** Types of messages that people write. */
const WRITTEN = new Set([0, 19, 20, 23]);

/** Threads and forum posts that an account knows. */
export class Threads {
  /** Texts that began a thread; empty where there is none. */
  readonly #starters = new BoundedMap<string, string>(MOST_THREADS);
  /** The first message on this connection, by thread. The gateway itself keeps later ones. */
  readonly #firstSeen = new BoundedMap<string, string>(MOST_THREADS);
  /** The message that brought a thread's earlier messages, by thread. */
  readonly #told = new BoundedMap<string, string>(MOST_THREADS);

  /** The surroundings of a message in a thread. `isNamed`: it addresses the bot. Throws when Discord does not answer. */
  async contextOf(message: Message, { place, isNamed, bot }: Asked): Promise<MessageContext | undefined> {
    if (place.kind !== "thread" && place.kind !== "post") return undefined;
    const seen = this.#firstSeen.get(place.id);
    const before = seen !== undefined && isLater(message.id, seen) ? seen : message.id;
    this.#firstSeen.set(place.id, before);
    const threadStarter = message.id === place.id ? "" : await this.#starterOf(place, bot);
    const threadHistory = isNamed && this.#claims(place, message) ? await earlierLines(place, before, bot) : [];
    return {
      ...(place.name !== undefined && { threadName: place.name }),
      ...(threadStarter !== "" && { threadStarter }),
      ...(threadHistory.length > 0 && { threadHistory }),
    };
  }

  /** True for one message of a thread on this connection, so that its earlier messages are shown to the agent once. */
  #claims({ id }: Place, message: Message): boolean {
    const holder = this.#told.get(id) ?? message.id;
    this.#told.set(id, holder);
    return holder === message.id;
  }

  /** A thread has the id of the message that began it, which is in the parent channel; a post's first message is in the post. */
  async #starterOf(place: Place, bot: Reader): Promise<string> {
    const starter = this.#starters.get(place.id) ?? (await askStarter(place, bot));
    this.#starters.set(place.id, starter);
    return starter;
  }
}

/** The parts of an account that reading needs. */
interface Reader {
  readonly api: Api;
  readonly config: Pick<DiscordConfig, "thread">;
  readonly places: Places;
  readonly self: { readonly known: Self | undefined };
}

interface Asked {
  readonly place: Place;
  readonly isNamed: boolean;
  readonly bot: Reader;
}

async function askStarter(place: Place, bot: Reader): Promise<string> {
  const channel = place.kind === "post" ? place.id : place.parentId;
  const first = channel === undefined ? undefined : await askMessage(bot, channel, place.id);
  if (!first) return "";
  const text = textOf(first, bot);
  return place.kind === "post" ? `${place.name ?? ""}\n${text}`.trim() : text;
}

const textOf = (message: Message, { places }: Reader): string =>
  wholeText(message, { users: message.mentions, roles: new Map<string, string>(), places, selfId: "" });

/** A message; undefined when it is gone or the bot may not see it. Throws when Discord does not answer. */
export async function askMessage(bot: Pick<Reader, "api">, channel: string, id: string): Promise<Message | undefined> {
  const found = await unlessRefused(bot.api.ask<unknown>("GET", `/channels/${channel}/messages/${id}`));
  return messageShape.safeParse(found).data;
}

/**
 * The messages of a thread before a given one. None when the bot wrote in the thread: then its conversation has them.
 */
async function earlierLines(place: Place, before: string, bot: Reader): Promise<readonly string[]> {
  const limit = Math.min(bot.config.thread.initialHistoryLimit, MOST_LINES);
  if (limit === 0) return [];
  const query = { before, limit: String(limit) };
  const route = `/channels/${place.id}/messages` as const;
  const page = messagesOf((await unlessRefused(bot.api.ask<unknown[]>("GET", route, { query }))) ?? []);
  if (page.some(({ author }) => author.id === bot.self.known?.id)) return [];
  return page
    .filter(({ id, type }) => id !== place.id && WRITTEN.has(type))
    .toReversed()
    .map((message) => `Earlier in the thread, ${nameOf(message.author)}: ${textOf(message, bot)}`);
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!isRefused(error)) throw error;
    return undefined;
  }
}
