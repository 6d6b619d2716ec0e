import type { APIInteraction } from "discord-api-types/v10";
import { background } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { isAcknowledged, reasonOf } from "../failures.ts";
import { peerOf, timeOf } from "./places.ts";
import type { Place } from "./places.ts";
import type { Bot, EventContext } from "../bot.ts";
import { userOf } from "./text.ts";

/** Discord forgets an interaction after fifteen minutes. */
const GOOD_FOR_MS = 14 * 60_000;
/** Discord waits three seconds for the first word. A refusal within this time comes instead of "thinking…". */
const HOLD_MS = 1000;
/** Name of the one option of each command. */
export const ARGUMENTS = "args";

/** Types of interactions; docs.discord.com/developers/interactions/receiving-and-responding */
const COMMAND = 2;
const COMPONENT = 3;
const AUTOCOMPLETE = 4;
/** Types of commands and components: those of the menu that begins with a slash, and buttons. */
const SLASH = 1;
const BUTTON = 2;
/** Where an interaction was triggered: docs.discord.com/developers/interactions/application-commands#interaction-contexts */
export const IN_GUILD = 0;
export const IN_BOT_DM = 1;
/** Of an app that was added to a server, and to a person's account. */
export const GUILD_INSTALL = 0;
const USER_INSTALL = 1;

interface Response {
  readonly type: number;
  readonly data?: unknown;
}

const MESSAGE = 4;
const THINKING: Response = { type: 5 };
const NO_CHANGE: Response = { type: 6 };
const NO_CHOICES: Response = { type: 8, data: { choices: [] } };
/** Only whoever caused the interaction sees the message. */
const EPHEMERAL = 1 << 6;

const privately = (content: string): Response => ({ type: MESSAGE, data: { content, flags: EPHEMERAL } });

const ELSEWHERE = privately(
  "I answer only in servers that I am in, and in the direct chat with me. Please give the command there.",
);
const UNKNOWN = privately(
  "I do not know this. Please write to me, or choose one of my commands that begin with a slash.",
);
const NOTHING = "There is no answer to this.";

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
  if (channel !== undefined) bot.deferred.set(keyOf(interaction), new DeferredReply(interaction, channel, bot));
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
 * Whether the bot itself is in the chat. Whoever has added the app to their account can use it everywhere: in the direct chats of
 * others, in group chats and in servers that have no bot.
 */
function isAtHome(interaction: APIInteraction, { places, directs }: Bot): boolean {
  const channel = channelOf(interaction);
  if (channel === undefined) return false;
  if (interaction.guild_id !== undefined) {
    const owners = Object.keys(interaction.authorizing_integration_owners ?? {});
    return owners.includes(String(GUILD_INSTALL)) || !owners.includes(String(USER_INSTALL));
  }
  if (interaction.context !== undefined) return Number(interaction.context) === IN_BOT_DM;
  // A server that says nothing of it: only a chat counts that is known as the person's.
  const person = interaction.user?.id;
  return person !== undefined && (directs.known(person) === channel || places.direct(channel)?.personId === person);
}

const channelOf = ({ channel, channel_id: id }: APIInteraction): string | undefined => channel?.id ?? id;

const keyOf = ({ id }: Pick<APIInteraction, "id">): string => `i${id}`;

/** True when Discord has taken it, now or before. Never rejects. */
async function respond({ id, token }: APIInteraction, body: Response, { api, host }: Bot): Promise<boolean> {
  try {
    await api.act("POST", `/interactions/${id}/${token}/callback`, { body });
    return true;
  } catch (error) {
    if (isAcknowledged(error)) return true;
    host.log.info("an interaction was not acknowledged", { reason: reasonOf(error) });
    return false;
  }
}

/** A command of Discord's menu that waits for its answer. Only a send that names the command may fill it. */
export class DeferredReply {
  readonly channel: string;
  /** The answer's path; it holds its own token. */
  readonly route: `/webhooks/${string}`;
  /** The send that filled it; the same send may fill it again. */
  filledBy: string | undefined;
  readonly #interaction: APIInteraction;
  readonly #bot: Bot;
  readonly #until: number;
  readonly #timer: NodeJS.Timeout;
  /** The first response: whether Discord shows the command as waiting. */
  #isShown: Promise<boolean> | undefined;

  constructor(interaction: APIInteraction, channel: string, bot: Bot) {
    this.channel = channel;
    this.#interaction = interaction;
    this.#bot = bot;
    this.#until = timeOf(interaction.id) + GOOD_FOR_MS;
    this.route = `/webhooks/${interaction.application_id}/${interaction.token}/messages/@original`;
    this.#timer = setTimeout(() => background("sign of a command", this.open()), HOLD_MS);
  }

  get isTooOld(): boolean {
    return this.#until < Date.now();
  }

  /** Shows the command as waiting, unless it had its response. True when an answer can be put in there. Never rejects. */
  async open(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#isShown ??= respond(this.#interaction, THINKING, this.#bot);
    return !this.isTooOld && (await this.#isShown);
  }

  /** Ends it without an answer. The reason is for whoever gave the command alone. Never rejects. */
  async end(reason: string | undefined): Promise<void> {
    clearTimeout(this.#timer);
    if (this.isTooOld) return;
    if (this.#isShown === undefined) {
      const said = respond(this.#interaction, privately(reason ?? NOTHING), this.#bot);
      this.#isShown = said.then(() => false);
      await said;
      return;
    }
    if (!(await this.#isShown)) return;
    await this.remove();
    if (reason !== undefined) await this.#tell(reason);
  }

  /** Removes "thinking…". Never rejects. */
  async remove(): Promise<void> {
    try {
      await this.#bot.api.act("DELETE", this.route);
    } catch (error) {
      this.#bot.host.log.info("a command is still shown as waiting", { reason: reasonOf(error) });
    }
  }

  /** A further message of the interaction, which may be private where the first was not. */
  async #tell(content: string): Promise<void> {
    const { application_id: application, token } = this.#interaction;
    const body = { content, flags: EPHEMERAL };
    try {
      await this.#bot.api.act("POST", `/webhooks/${application}/${token}`, { body });
    } catch (error) {
      this.#bot.host.log.info("the sender of a command was not told why it has no answer", { reason: reasonOf(error) });
    }
  }
}

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
