import type { APIInteraction } from "discord-api-types/v10";
import { background } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Api } from "./api.ts";
import { isAcknowledged, reasonOf } from "./failures.ts";
import { timeOf } from "./places.ts";

/** Discord forgets an interaction after fifteen minutes. */
const GOOD_FOR_MS = 14 * 60_000;
/** Discord waits three seconds for the first word. A refusal within this time comes instead of "thinking…". */
const HOLD_MS = 1000;
const NOTHING = "There is no answer to this.";

type Answerable = Pick<APIInteraction, "id" | "token" | "application_id">;

interface Ports {
  readonly api: Api;
  readonly host: ChannelHost;
}

/** The first response to an interaction. docs.discord.com/developers/interactions/receiving-and-responding */
export interface Response {
  readonly type: number;
  readonly data?: unknown;
}

const MESSAGE = 4;
const THINKING = 5;
/** Flag of a message that only the person who caused the interaction sees. */
export const EPHEMERAL = 1 << 6;

/** A message for the person who caused the interaction alone. */
export const privately = (content: string): Response => ({ type: MESSAGE, data: { content, flags: EPHEMERAL } });

/** Answers an interaction. True when Discord has taken the answer, now or before. Never rejects. */
export async function respond({ id, token }: Answerable, body: Response, { api, host }: Ports): Promise<boolean> {
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
  /** Whether only the person who gave the command sees its answer, and all messages of the answer. */
  readonly isPrivate: boolean;
  /** The path of further messages; it holds its own token. */
  readonly more: `/webhooks/${string}`;
  /** The send that filled the reply; the same send may fill it again. */
  filledBy: string | undefined;
  /** The messages of a private answer, by their sends; empty for one that may or may not have arrived. */
  readonly messages = new Map<string, string>();
  readonly #interaction: Answerable;
  readonly #bot: Ports;
  readonly #until: number;
  readonly #timer: NodeJS.Timeout;
  /** The first response: whether Discord shows the command as waiting. */
  #isShown: Promise<boolean> | undefined;

  constructor(interaction: Answerable, where: { readonly channel: string; readonly isPrivate: boolean }, bot: Ports) {
    this.channel = where.channel;
    this.isPrivate = where.isPrivate;
    this.#interaction = interaction;
    this.#bot = bot;
    this.#until = timeOf(interaction.id) + GOOD_FOR_MS;
    this.more = `/webhooks/${interaction.application_id}/${interaction.token}`;
    this.#timer = setTimeout(() => background("sign of a command", this.open()), HOLD_MS);
  }

  /** The path of the answer. */
  get route(): `/webhooks/${string}` {
    return `${this.more}/messages/@original`;
  }

  /** The path of one of the reply's private messages, which are in no channel. */
  routeOf(messageId: string): `/webhooks/${string}` | undefined {
    const [key] = [...this.messages].find(([, id]) => id === messageId) ?? [];
    if (key === undefined) return undefined;
    return key === this.filledBy ? this.route : `${this.more}/messages/${messageId}`;
  }

  get isTooOld(): boolean {
    return this.#until < Date.now();
  }

  /** Shows the command as waiting, unless it had its response. True when an answer can be put in there. Never rejects. */
  async open(): Promise<boolean> {
    clearTimeout(this.#timer);
    const sign = { type: THINKING, ...(this.isPrivate && { data: { flags: EPHEMERAL } }) };
    this.#isShown ??= respond(this.#interaction, sign, this.#bot);
    return !this.isTooOld && (await this.#isShown);
  }

  /** Ends the command without an answer. Only the person who gave the command sees the reason. Never rejects. */
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
    try {
      await this.#bot.api.act("POST", this.more, { body: { content, flags: EPHEMERAL } });
    } catch (error) {
      this.#bot.host.log.info("the sender of a command was not told why it has no answer", { reason: reasonOf(error) });
    }
  }
}
