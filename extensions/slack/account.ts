import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import { openSlack, whoAmI } from "./transport/api.ts";
import type { Self, Slack } from "./transport/api.ts";
import { ChannelIds } from "./channel-ids.ts";
import type { SlackConfig } from "./config.ts";
import { OutsideCommands } from "./inbound/outside-commands.ts";
import type { Delivery } from "./events.ts";
import { readDelivery } from "./inbound/inbound.ts";
import { Mentions } from "./inbound/mentions.ts";
import type { ReadContext } from "./inbound/read-context.ts";
import { People } from "./inbound/people.ts";
import { missingScopes } from "./probe.ts";
import { Reactions } from "./inbound/reactions.ts";
import type { AccountContext } from "./outbound/account-context.ts";
import { Streams } from "./outbound/streams.ts";
import { Threads } from "./inbound/threads.ts";
import { Typing } from "./outbound/typing.ts";
import { openUploads } from "./outbound/uploads.ts";
import type { PendingUploads } from "./outbound/uploads.ts";

/** Parts that reading a message needs, apart from the time for it. */
type Reading = Omit<ReadContext, "people" | "until"> & { readonly people: People };

/**
 * The time for all lookups of one message together. Slack wants a delivery acknowledged within three seconds, and it must be stored as
 * well.
 */
const LOOKUPS_MS = 1200;

/** Context for one message that is read now. */
export function contextOf({ people, ...reading }: Reading): ReadContext {
  const until = Date.now() + LOOKUPS_MS;
  return { ...reading, people: people.until(until), until };
}

/** A connected account. The identity of the bot may become known after the account starts. */
export class Account implements AccountContext {
  readonly slack: Slack;
  readonly config: SlackConfig;
  readonly host: ChannelHost;
  readonly channelIds: ChannelIds;
  readonly reactions: Reactions;
  readonly typing: Typing;
  readonly streams: Streams;
  readonly uploads: PendingUploads;
  readonly mentions: Mentions;
  readonly unreadable = new Set<string>();
  #reading: Reading | undefined;

  /** Throws `OpenClawError` `CHANNEL_CONFIG` when a token is missing. */
  constructor(config: SlackConfig, host: ChannelHost) {
    this.slack = openSlack(config, host.log);
    this.config = config;
    this.host = host;
    this.channelIds = new ChannelIds(this.slack);
    this.reactions = new Reactions(() => this.self()?.userId);
    this.typing = new Typing(this);
    this.uploads = openUploads(host.notes);
    this.mentions = new Mentions(this.slack, host);
    this.streams = new Streams(this.slack, host.log);
  }

  self(): Self | undefined {
    return this.#reading?.self;
  }

  threads(): Pick<Threads, "join" | "noteOwnMessage"> | undefined {
    return this.#reading?.threads;
  }

  /** Requests the identity of the bot, unless it is known. Throws the errors of the Web API client. */
  async ready(): Promise<Reading> {
    this.#reading ??= this.#readingOf(await whoAmI(this.slack));
    return this.#reading;
  }

  /** The message in a delivery. Throws the errors of the Web API client while the identity of the bot is unknown. */
  async read(delivery: Delivery): Promise<InboundMessage | undefined> {
    return readDelivery(delivery, contextOf(await this.ready()));
  }

  /** Reports to the host that the connection works. */
  alive(): void {
    const self = this.self();
    this.host.report({ kind: "alive", ...(self && { self: { id: self.userId, name: `@${self.name}` } }) });
  }

  #readingOf(self: Self): Reading {
    const { channelIds, config, host, slack, mentions } = this;
    const missing = missingScopes(self);
    if (missing.length > 0) host.log.warn("the Slack app lacks scopes", { missing });
    const { account, commands } = host;
    const people = new People(slack);
    const outsideCommands = new OutsideCommands(slack, channelIds, { config, log: host.log });
    const threads = new Threads(slack, self, host);
    return { account, self, config, people, outsideCommands, mentions, threads, commands, now: Date.now };
  }
}
