import type { APIMessage } from "discord-api-types/v10";
import { actions } from "./actions.ts";
import { fileNameOf } from "openclaw/plugin-sdk";
import type { ChannelLink, OutboundPart, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import { isGone, outcomeOf, reasonOf, UNKNOWN_MESSAGE } from "./failures.ts";
import { timeOf } from "./places.ts";
import { messagesOf } from "./message-shape.ts";
import type { Message } from "./message-shape.ts";
import { selfId } from "./bot.ts";
import type { Bot } from "./bot.ts";
import {
  changeAt,
  outboundFiles,
  hasFilled,
  NO_MENTIONS,
  nonceOf,
  privateMessage,
  privateRoute,
  rowsOf,
  targetOf,
} from "./send.ts";

type Changes = Required<Pick<ChannelLink, "actions" | "edit" | "remove" | "react" | "typing" | "find">>;

/** The changes to messages that exist, and what else the bot can do in a channel. */
export function changes(bot: Bot): Changes {
  const { api, host } = bot;
  return {
    actions: actions(bot),
    async edit(to, messageId, part, options = {}) {
      // Without an empty list the earlier buttons would stay.
      const components = rowsOf(options.buttons ?? []);
      const body = { content: part.body, allowed_mentions: NO_MENTIONS, components };
      return changeAt(to, bot, async (target) => {
        const route = privateRoute(messageId, bot) ?? (`/channels/${target}/messages/${messageId}` as const);
        await api.act("PATCH", route, { body });
        return { kind: "sent", messageId };
      });
    },
    async remove(to, messageId) {
      return changeAt(to, bot, async (target) => {
        const route = privateRoute(messageId, bot) ?? (`/channels/${target}/messages/${messageId}` as const);
        await api.act("DELETE", route).catch((error: unknown) => {
          if (!isGone(error, UNKNOWN_MESSAGE)) throw error;
        });
        return { kind: "sent", messageId };
      });
    },
    async react(to, messageId, emoji) {
      return changeAt(to, bot, async (target) => {
        await react(`/channels/${target}/messages/${messageId}`, { bot, messageId, emoji });
        return { kind: "sent", messageId };
      });
    },
    async typing(to) {
      try {
        await api.act("POST", `/channels/${await targetOf(to, bot)}/typing`);
      } catch (error) {
        host.log.info("typing was not shown", { reason: reasonOf(error) });
      }
    },
    find: async (to, part, options) => find(to, part, options, bot),
  };
}

/** The bot has one reaction per message, as on other platforms: a new one replaces the last. */
async function react(
  message: `/channels/${string}`,
  { bot, messageId, emoji }: { bot: Bot; messageId: string; emoji: string | undefined },
): Promise<void> {
  const { api, reactions } = bot;
  const wanted = emoji?.replace(/^<a?:(\w+:\d+)>$/, "$1");
  const before = reactions.get(messageId);
  const route = (name: string): `/${string}` => `${message}/reactions/${encodeURIComponent(name)}/@me`;
  if (wanted !== undefined) await api.act("PUT", route(wanted));
  const old = before === undefined && wanted === undefined ? await ourReactions(message, bot) : [before];
  for (const name of old) {
    if (name !== undefined && name !== wanted) await api.act("DELETE", route(name));
  }
  if (wanted === undefined) reactions.delete(messageId);
  else reactions.set(messageId, wanted);
}

/** Asks Discord for the bot's reactions, because they are not known after a restart. */
async function ourReactions(message: `/${string}`, { api }: Bot): Promise<readonly string[]> {
  const { reactions = [] } = await api.ask<APIMessage>("GET", message);
  return reactions
    .filter(({ me }) => me)
    .map(({ emoji: { id, name } }) => (id === null ? (name ?? "") : `${name}:${id}`));
}

/** Discord's maximum for one page. */
const PAGE = 100;
/** No send is retried for longer: a page that reaches back so far holds every candidate. */
const REACH_MS = 24 * 3_600_000;

async function find(
  to: Peer,
  part: OutboundPart,
  { idempotencyKey }: Pick<SendOptions, "idempotencyKey">,
  bot: Bot,
): Promise<SendResult> {
  const nonce = nonceOf(idempotencyKey);
  const known = bot.nonces.get(nonce);
  if (known !== undefined) return { kind: "sent", messageId: known };
  try {
    const target = await targetOf(to, bot);
    const asPrivate = privateMessage(idempotencyKey, bot);
    if (asPrivate !== undefined && asPrivate !== "") return { kind: "sent", messageId: asPrivate };
    if (asPrivate === "") return { kind: "unknown", reason: "a private message is in no history" };
    // Filling a deferred reply twice changes nothing.
    if (hasFilled(target, idempotencyKey, bot)) return { kind: "retry", reason: "it can be sent again" };
    const query = { limit: String(PAGE) };
    const page = await bot.api.ask<unknown[]>("GET", `/channels/${target}/messages`, { query });
    if (page.length === 0 && (await hasMessages(target, bot))) {
      return { kind: "unknown", reason: "the bot may not read the history" };
    }
    return resultOf(page, { nonce, part, bot });
  } catch (error) {
    const outcome = outcomeOf(error);
    return outcome.kind === "retry" ? { kind: "unknown", reason: outcome.reason } : outcome;
  }
}

/** A bot without Read Message History gets an empty history. docs.discord.com/developers/resources/message#get-channel-messages */
async function hasMessages(target: string, { api }: Bot): Promise<boolean> {
  const { last_message_id: last } = await api.ask<{ last_message_id?: string | null }>("GET", `/channels/${target}`);
  return last != null;
}

/** The history may lack nonces: a message with the same text may be this one or another. */
function resultOf(
  page: readonly unknown[],
  { nonce, part, bot }: { nonce: string; part: OutboundPart; bot: Bot },
): SendResult {
  const messages = messagesOf(page);
  const own = messages.filter(({ author }) => author.id === selfId(bot));
  const found = own.find((message) => message.nonce === nonce);
  if (found) return { kind: "sent", messageId: found.id };
  if (own.some((message) => hasContentOf(message, part)))
    return { kind: "unknown", reason: "a message with the same text is there" };
  const oldest = messages.at(-1);
  const isWhole = page.length < PAGE || (oldest && Date.now() - timeOf(oldest.id) > REACH_MS);
  return isWhole
    ? { kind: "retry", reason: "it is not there" }
    : { kind: "unknown", reason: "the history does not reach back far enough" };
}

function hasContentOf(message: Message, part: OutboundPart): boolean {
  if (part.kind === "text") return withoutSpaces(message.content) === withoutSpaces(part.body);
  const names = new Set(message.attachments.map(({ filename }) => filename));
  return outboundFiles(part).every((item) => names.has(fileNameOf(item).replaceAll(/[^\w.-]/g, "_")));
}

/** Discord trims and joins white space, so that it does not count. */
const withoutSpaces = (text: string): string => text.replaceAll(/\s+/g, "");
