import type { APIInteraction } from "discord-api-types/v10";
import { background } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { DeferredReply, privately, respond } from "../deferred-reply.ts";
import type { Response } from "../deferred-reply.ts";
import { peerOf, timeOf } from "../places.ts";
import type { Place } from "../places.ts";
import type { Bot, EventContext } from "../bot.ts";
import { authorOf } from "../text.ts";

/** Name of the only option of each command. */
export const ARGUMENTS = "args";

/** Types of interactions; docs.discord.com/developers/interactions/receiving-and-responding */
const COMMAND = 2;
const COMPONENT = 3;
const AUTOCOMPLETE = 4;
/** Types of commands and components: commands of the menu that begins with a slash, and buttons. */
const SLASH = 1;
const BUTTON = 2;
/** Where an interaction was triggered: docs.discord.com/developers/interactions/application-commands#interaction-contexts */
export const IN_GUILD = 0;
export const IN_BOT_DM = 1;
/** Kinds of installation of an app: in a server, and in a person's account. */
export const GUILD_INSTALL = 0;
const USER_INSTALL = 1;

const ELSEWHERE = privately(
  "I answer only in servers that I am in, and in the direct chat with me. Please give the command there.",
);
const UNKNOWN = privately(
  "I do not know this. Please write to me, or choose one of my commands that begin with a slash.",
);
const NO_CHANGE: Response = { type: 6 };
const NO_CHOICES: Response = { type: 8, data: { choices: [] } };

/**
 * Answers Discord within its three seconds: at once where the interaction is nothing for an agent, else with a sign that an answer will
 * follow. That acknowledges nothing: the event stays in the session until it is stored. Never throws.
 */
export function respondTo(interaction: APIInteraction, bot: Bot): void {
  const refusal = refusalOf(interaction, bot);
  if (refusal) return background("answer to an interaction", respond(interaction, refusal, bot));
  if (interaction.type === COMPONENT)
    return background("answer to an interaction", respond(interaction, NO_CHANGE, bot));
  const channel = channelOf(interaction);
  if (channel === undefined) return;
  // In a direct chat nobody else reads, and Discord forgets private messages there too.
  const isPrivate = bot.config.slashCommand.ephemeral && interaction.guild_id !== undefined;
  bot.deferred.set(keyOf(interaction), new DeferredReply(interaction, { channel, isPrivate }, bot));
}

/** The answer to an interaction that is nothing for an agent; undefined for a command of the menu and a button, given at home. */
function refusalOf(interaction: APIInteraction, bot: Bot): Response | undefined {
  switch (interaction.type) {
    case COMMAND:
      return interaction.data.type === SLASH ? elsewhere(interaction, bot) : UNKNOWN;
    case COMPONENT:
      return interaction.data.component_type === BUTTON ? elsewhere(interaction, bot) : UNKNOWN;
    case AUTOCOMPLETE:
      return NO_CHOICES;
    default:
      return UNKNOWN;
  }
}

const elsewhere = (interaction: APIInteraction, bot: Bot): Response | undefined =>
  isAtHome(interaction, bot) ? undefined : ELSEWHERE;

/**
 * Whether the bot itself is in the chat. A person who has added the app to their account can use it everywhere: in the
 * direct chats of others, in group chats and in servers that have no bot.
 */
function isAtHome(interaction: APIInteraction, { places, directs }: Bot): boolean {
  const channel = channelOf(interaction);
  if (channel === undefined) return false;
  if (interaction.guild_id !== undefined) {
    const owners = Object.keys(interaction.authorizing_integration_owners ?? {});
    return owners.includes(String(GUILD_INSTALL)) || !owners.includes(String(USER_INSTALL));
  }
  if (interaction.context !== undefined) return Number(interaction.context) === IN_BOT_DM;
  // Where the server says nothing of the chat's kind, only a chat that is known as the person's counts.
  const person = interaction.user?.id;
  return person !== undefined && (directs.known(person) === channel || places.direct(channel)?.personId === person);
}

const channelOf = ({ channel, channel_id: id }: APIInteraction): string | undefined => channel?.id ?? id;

const keyOf = ({ id }: Pick<APIInteraction, "id">): string => `i${id}`;

/** Ends the waiting of a command that gets no answer. Never rejects. */
export async function clearPending({ eventKey }: InboundMessage, reason: string | undefined, bot: Bot): Promise<void> {
  const reply = bot.deferred.get(eventKey);
  if (!reply || reply.filledBy !== undefined) return;
  bot.deferred.delete(eventKey);
  await reply.end(reason);
}

/** A pressed button or a command of the menu, as if somebody had written it. Throws when Discord does not answer. */
export async function readInteraction(
  interaction: APIInteraction,
  context: EventContext,
): Promise<InboundMessage | undefined> {
  const { bot, now } = context;
  const written = refusalOf(interaction, bot) === undefined ? textOf(interaction) : undefined;
  const { guild_id: guildId, member } = interaction;
  const user = member?.user ?? interaction.user;
  const channel = channelOf(interaction);
  if (!written || channel === undefined || !user) return undefined;
  const place = await placeOf(interaction, { channel, personId: user.id }, bot);
  if (place.kind === "direct") await bot.directs.remember(user.id, channel);
  return {
    id: written.id,
    eventKey: keyOf(interaction),
    from: peerOf(place, bot.places, { account: bot.host.account, personId: user.id }),
    sender: authorOf(user, member),
    text: written.text,
    media: [],
    mentionsBot: true,
    event: written.event,
    receivedAt: now,
    sentAt: timeOf(interaction.id),
    ...(guildId !== undefined && { guildId }),
  };
}

/** An interaction at home without a server is one of the person's direct chat. */
async function placeOf(
  { guild_id: guildId, channel: facts }: APIInteraction,
  { channel, personId }: { channel: string; personId: string },
  { places, api }: Bot,
): Promise<Place> {
  if (guildId === undefined) return { id: channel, kind: "direct", personId };
  // An interaction holds only a part of its channel's fields.
  return places.find({ id: channel, guildId, ...(facts && { facts }) }, api);
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
  if (interaction.type !== COMMAND || interaction.data.type !== SLASH) return undefined;
  const { name, options = [] } = interaction.data;
  const values = options.flatMap((option) => ("value" in option ? [String(option.value)] : []));
  return { id: interaction.id, text: [`/${name}`, ...values].join(" "), event: "command" };
}
