import { type ChannelHost, type ChannelLink, BoundedMap, type Peer, background, wait } from "openclaw/plugin-sdk";
import { openBot, whoAmI, type BotApi, type Self } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import { download } from "./receive/download.ts";
import { Drafts } from "./send/drafts.ts";
import { badToken, failureOf, isBadToken } from "./send/failures.ts";
import { Forums, GroupMigrations } from "./account.ts";
import { Intake } from "./receive/intake.ts";
import { OwnMessages } from "./own-messages.ts";
import { Posts } from "./posts.ts";
import type { Account } from "./account.ts";
import { explain, reportFailure } from "./receive/failure-report.ts";
import { chatId, envelope } from "./send/envelope.ts";
import { showMenu } from "./menu.ts";
import { polls } from "./receive/poll.ts";
import type { Receiving } from "./receive/receiving.ts";
import { webhook } from "./receive/webhook.ts";
import { actions } from "./send/actions.ts";
import { changes, sendText } from "./send/send.ts";
import { Uploads } from "./send/upload.ts";

/** Begins to receive. Throws `OpenClawError` when the settings cannot work or Telegram does not know the token. */
export async function connect(config: TelegramConfig, host: ChannelHost): Promise<ChannelLink> {
  const bot = await openBot(config);
  const known = { migrations: new GroupMigrations(config, host), own: new OwnMessages(host), forums: new Forums() };
  const account = { bot, config, host, ...known, posts: new Posts(config) };
  return link(account, await firstContact(bot, host));
}

/** Undefined when Telegram cannot be reached; `receive` asks again. */
async function firstContact(bot: BotApi, host: ChannelHost): Promise<Self | undefined> {
  try {
    return await whoAmI(bot, host.signal);
  } catch (error) {
    const failure = failureOf(error);
    if (isBadToken(failure)) throw badToken(failure.text);
    host.report({ kind: "trouble", ...explain(failure) });
    return undefined;
  }
}

function link(account: Account, self: Self | undefined): ChannelLink {
  const { bot, config, host } = account;
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const intake = new Intake(account, signal);
  const drafts = new Drafts(account);
  const chatIds = new ChatIds(account);
  const receiving = { account, intake, signal };
  const received = receive(receiving, openReceiver(receiving), self);
  return {
    ...outgoing(account),
    chatId: (to) => chatIds.of(to),
    stream: (to, options) => drafts.stream(to, options),
    download: (item) => download(bot, config, item),
    async close() {
      end.abort();
      await received;
      await intake.end();
      await account.own.save();
    },
  };
}

/** The name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when Telegram does not answer. */
export async function askName(config: TelegramConfig, signal: AbortSignal): Promise<string> {
  try {
    const self = await whoAmI(await openBot(config), signal);
    return `@${self.username}`;
  } catch (error) {
    const failure = failureOf(error);
    if (isBadToken(failure)) throw badToken(failure.text);
    if (failure.kind === "answered" || failure.kind === "unreached") throw new Error(failure.text);
    throw error;
  }
}

const MOST_NAMES = 500;

/** The ids of chats, also of chats that an operator or an agent named by their public names, such as `@news`. */
class ChatIds {
  readonly #account: Pick<Account, "bot" | "migrations">;
  readonly #named = new BoundedMap<string, string>(MOST_NAMES);

  constructor(account: Pick<Account, "bot" | "migrations">) {
    this.#account = account;
  }

  /** Throws what grammY throws. */
  async of(to: Peer): Promise<string> {
    const name = chatId(this.#account, to);
    if (typeof name === "number") return String(name);
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const { id } = await this.#account.bot.calls.getChat({ chat_id: name });
    this.#named.set(name, String(id));
    return String(id);
  }
}

/** A round of receiving: a poll, or a check of the webhook. Throws when it fails. */
type Round = (self: Self) => Promise<void>;

/** Receives by webhook when one is configured, else by polling. Throws `CHANNEL_CONFIG`. */
const openReceiver = (receiving: Receiving): Round =>
  receiving.account.config.webhookUrl === undefined
    ? polls(receiving)
    : webhook(receiving, receiving.account.config.webhookUrl);

/** Receives, round by round, until the signal aborts or the account is dead. Never rejects. */
async function receive(receiving: Receiving, round: Round, known: Self | undefined): Promise<void> {
  const { account, signal } = receiving;
  let self = known;
  let failures = 0;
  let isReady = false;
  while (!signal.aborted) {
    try {
      self ??= await whoAmI(account.bot, signal);
      if (!isReady) await prepare(receiving);
      isReady = true;
      await round(self);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const ms = reportFailure(account, error, failures++);
      if (ms === undefined) return;
      await wait(ms, signal);
    }
  }
}

async function prepare({ account, intake, signal }: Receiving): Promise<void> {
  await account.migrations.begin();
  await account.own.begin();
  await intake.begin();
  background("menu of commands", showMenu(account, signal));
}

type Outgoing = Required<Pick<ChannelLink, "send" | "edit" | "remove" | "react" | "typing" | "actions">>;

/** Everything that a link does in chats. */
function outgoing(account: Account): Outgoing {
  const uploads = new Uploads(account);
  return {
    async send(to, part, options) {
      const where = envelope(account, to, options);
      return part.kind === "text" ? sendText(account, where, part) : uploads.send(where, part, options.idempotencyKey);
    },
    ...changes(account),
    actions: actions(account),
  };
}
