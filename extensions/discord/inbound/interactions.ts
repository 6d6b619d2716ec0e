import type { APIInteraction } from "discord-api-types/v10";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { reasonOf } from "../failures.ts";
import { peerOf, timeOf } from "./places.ts";
import type { Bot, DeferredReply, EventContext } from "../bot.ts";
import { userOf } from "./text.ts";

/** Discord forgets an interaction after fifteen minutes. */
const GOOD_FOR_MS = 14 * 60_000;
/** Name of the one option of each command. */
export const ARGUMENTS = "args";

const COMMAND = 2;
const COMPONENT = 3;
const THINKING = { type: 5 };
const NO_CHANGE = { type: 6 };

/**
 * Tells Discord within its three seconds that an answer will follow. That acknowledges nothing: the event stays in the
 * session until it is stored.
 */
export function defer(interaction: APIInteraction, bot: Bot): void {
  const { id, token, type, application_id: application, channel } = interaction;
  if (type !== COMMAND && type !== COMPONENT) return;
  const isOpen = callBack(`/interactions/${id}/${token}/callback`, type === COMMAND ? THINKING : NO_CHANGE, bot);
  if (type !== COMMAND || channel === undefined) return;
  const route = `/webhooks/${application}/${token}/messages/@original` as const;
  bot.deferred.set(id, { channel: channel.id, route, isOpen, until: timeOf(id) + GOOD_FOR_MS });
}

/** Removes "thinking…" below a command that gets no answer. Never rejects. */
export async function clearPending({ id }: InboundMessage, bot: Bot): Promise<void> {
  const reply = bot.deferred.get(id);
  if (!reply || reply.filledBy !== undefined) return;
  dropReply(reply, bot);
  if ((await reply.isOpen) && reply.until >= Date.now()) await removeThinking(reply, bot);
}

/** Removes "thinking…". Never rejects. */
export async function removeThinking(reply: DeferredReply, bot: Bot): Promise<void> {
  dropReply(reply, bot);
  try {
    await bot.api.act("DELETE", reply.route);
  } catch (error) {
    bot.host.log.info("a command is still shown as waiting", { reason: reasonOf(error) });
  }
}

/** No send may fill the reply any more. */
export function dropReply(reply: DeferredReply, { deferred }: Bot): void {
  for (const [id, one] of deferred) if (one === reply) deferred.delete(id);
}

async function callBack(route: `/${string}`, body: { type: number }, bot: Bot): Promise<boolean> {
  try {
    await bot.api.act("POST", route, { body });
    return true;
  } catch (error) {
    bot.host.log.info("an interaction was not acknowledged", { reason: reasonOf(error) });
    return false;
  }
}

/** A pressed button or a command of the menu, as if somebody had written it. Throws when Discord does not answer. */
export async function readInteraction(
  interaction: APIInteraction,
  context: EventContext,
): Promise<InboundMessage | undefined> {
  const written = textOf(interaction);
  const { channel, guild_id: guildId, member } = interaction;
  const user = member?.user ?? interaction.user;
  if (!written || !channel || !user) return undefined;
  const { bot, now } = context;
  const { places, host } = bot;
  // An interaction holds only a part of its channel's fields.
  const place = await places.find(channel.id, guildId);
  if (place.kind === "direct") await bot.directs.remember(user.id, channel.id);
  return {
    id: written.id,
    eventKey: `i${interaction.id}`,
    from: peerOf(place, places, { account: host.account, personId: user.id }),
    sender: userOf(user, member),
    text: written.text,
    media: [],
    mentionsBot: true,
    event: written.event,
    receivedAt: now,
    sentAt: timeOf(interaction.id),
    ...(guildId !== undefined && { guildId }),
  };
}

interface WrittenText {
  readonly id: string;
  readonly text: string;
  readonly event: "button" | "command";
}

function textOf(interaction: APIInteraction): WrittenText | undefined {
  if (interaction.type === COMPONENT) {
    return { id: interaction.message.id, text: interaction.data.custom_id, event: "button" };
  }
  if (interaction.type !== COMMAND || interaction.data.type !== 1) return undefined;
  const { name, options = [] } = interaction.data;
  const values = options.flatMap((option) => ("value" in option ? [String(option.value)] : []));
  return { id: interaction.id, text: [`/${name}`, ...values].join(" "), event: "command" };
}
