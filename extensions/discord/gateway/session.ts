import type { SessionInfo } from "@discordjs/ws";
import type { GatewayReadyDispatchData } from "discord-api-types/v10";
import { background, backoff, readOwnNote, RequestedReconnects, wait } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { selfOf } from "../api.ts";
import type { Bot } from "../bot.ts";
import { isBadToken, outcomeOf } from "../failures.ts";
import type { EventQueue } from "../inbound/event-queue.ts";
import { respondTo } from "../inbound/interactions.ts";
import { GatewayConnection } from "../connection.ts";
import type { ConnectionEnding, DispatchEvent } from "../connection.ts";
import { socketUrl } from "../frame.ts";

/** Guilds, their messages and reactions, direct messages and their reactions, and the text of messages. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13) | (1 << 15);
/**
 * Milliseconds in which Discord sends one event for each guild after READY; the session does not wait for a guild that
 * is down.
 */
const GUILDS_WITHIN_MS = 5000;
/** Then the address that Discord gave the session counts as gone. */
const RESUME_URL_TRIES = 3;
const NOTE_EVERY_MS = 2000;
const noteShape = z.object({
  id: z.string(),
  url: socketUrl,
  self: z.object({ id: z.string(), name: z.string() }),
  since: z.number(),
  sequence: z.number(),
  terms: z.string(),
  shards: z.int().min(1).default(1),
});
export type ShardNote = z.output<typeof noteShape>;

export const AUTHENTICATION_FAILED = 4004;
/** Close codes after which another try cannot help. docs.discord.com/developers/topics/opcodes-and-status-codes */
const PERMANENT = new Set([AUTHENTICATION_FAILED, 4010, 4011, 4012, 4013, 4014]);
/** Ending of a connection that was not opened. */
export const UNOPENED: ConnectionEnding = {
  code: 1006,
  reason: "",
  wasReady: false,
  isForgotten: false,
  isPlanned: false,
};

/** The part of the bot's servers that a session is for. */
export interface Shard {
  readonly id: number;
  readonly count: number;
}

export interface SessionPorts {
  /** The address to begin a session at, or why none may be begun now. Throws the errors of the API. */
  address(): Promise<string | ConnectionEnding>;
  /** Resolves when the session may send IDENTIFY; rejects when the signal aborts. */
  mayIdentify(signal: AbortSignal): Promise<void>;
  alive(): void;
  trouble(reason: string, retryInMs: number): void;
}

/** The note of a shard's last session, where there is one for the same server, intents and bot. */
export async function readShardNote(shardId: number, { host, config, self }: Bot): Promise<ShardNote | undefined> {
  const note = await read(host, noteName(shardId));
  if (note?.terms !== termsOf(config)) return undefined;
  return self.known && self.known.id !== note.self.id ? undefined : note;
}

async function read(host: ChannelHost, name: string): Promise<ShardNote | undefined> {
  try {
    return await readOwnNote(host, name, noteShape);
  } catch (error) {
    host.log.warn("the last session with Discord could not be read", { error: String(error) });
    return undefined;
  }
}

const noteName = (shardId: number): string => (shardId === 0 ? "session" : `session-${shardId}`);

/** A session that was begun on other terms cannot be resumed. */
const termsOf = ({ apiUrl, gatewayUrl = "" }: Bot["config"]): string => [INTENTS, apiUrl, gatewayUrl].join(" ");

/**
 * Keeps one shard's session over its connections. Discord sends again the events after the last stored one, also after a
 * restart of the gateway, as long as it remembers the session.
 */
export class ShardSession {
  readonly #shard: Shard;
  readonly #bot: Bot;
  readonly #queue: EventQueue;
  readonly #ports: SessionPorts;
  #known: Pick<ShardNote, "id" | "url" | "since"> | undefined;
  /** Number of the last event that is stored or in the queue. */
  #received = 0;
  /** Number of an event that did not follow the event before; it counts once the next event follows it. */
  #leap: number | undefined;
  #notedAt = 0;
  readonly #requested = new RequestedReconnects();
  #missing = new Set<string>();

  constructor(shard: Shard, { bot, queue }: { bot: Bot; queue: EventQueue }, ports: SessionPorts) {
    this.#shard = shard;
    this.#bot = bot;
    this.#queue = queue;
    this.#ports = ports;
  }

  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  /** Whether Discord itself sends everything since an epoch millisecond. */
  brings(since: number): boolean {
    return this.#known !== undefined && this.#known.since <= since;
  }

  /** Continues the session of an earlier process. */
  restore({ id, url, self, since, sequence }: ShardNote): void {
    this.#bot.self.known = self;
    this.#known = { id, url, since };
    this.#received = sequence;
    this.#queue.begin(id, sequence);
  }

  /** Resolves when the signal aborts, or with a close code after which another try cannot help; never rejects. */
  async run(signal: AbortSignal): Promise<number | undefined> {
    for (let failures = 0; !signal.aborted; failures++) {
      const ending = await this.#connect(failures, signal);
      if (signal.aborted) break;
      if (PERMANENT.has(ending.code)) return ending.code;
      if (ending.wasReady) failures = 0;
      await wait(this.#pauseAfter(ending, failures), signal);
    }
    return undefined;
  }

  /** Notes the last stored event: a later process resumes from there. Never rejects. */
  async note(): Promise<void> {
    const { host, self, config } = this.#bot;
    const sequence = this.#known && this.#queue.stored(this.#known.id);
    if (sequence === undefined) return;
    this.#notedAt = Date.now();
    const more = { self: self.known, sequence, terms: termsOf(config), shards: this.#shard.count };
    const text = JSON.stringify({ ...this.#known, ...more });
    await host.notes.set(noteName(this.#shard.id), text).catch((error: unknown) => {
      host.log.warn("the place in Discord's session could not be noted", { error: String(error) });
    });
  }

  async #connect(failures: number, signal: AbortSignal): Promise<ConnectionEnding> {
    const { api, config, host } = this.#bot;
    try {
      const url = await this.#address(failures);
      if (typeof url !== "string") return url;
      const readyTimeoutMs = config.gatewayReadyTimeoutMs;
      const settings = { url, token: api.token, intents: INTENTS, shard: this.#shard, readyTimeoutMs };
      const connection = new GatewayConnection(settings, {
        session: () => this.#info(),
        begun: ({ sessionId, resumeURL, sequence }) => this.#begin(sessionId, resumeURL, sequence),
        received: (event) => this.#receive(event),
        unreadable: (what, sequence) => {
          host.log.warn("Discord's gateway sent something unreadable, which was skipped", { what });
          if (sequence !== undefined) this.#follows(sequence);
        },
        heartbeat: () => {
          if (this.#missing.size === 0) this.#alive();
        },
        mayIdentify: async (closed) => this.#ports.mayIdentify(closed),
      });
      return await connection.run(signal);
    } catch (error) {
      const outcome = outcomeOf(error);
      const reason = outcome.kind === "sent" ? "" : outcome.reason;
      return { ...UNOPENED, ...(isBadToken(error) && { code: AUTHENTICATION_FAILED }), reason };
    }
  }

  async #address(failures: number): Promise<string | ConnectionEnding> {
    const { config } = this.#bot;
    if (config.gatewayUrl !== undefined) return config.gatewayUrl;
    return this.#known && failures < RESUME_URL_TRIES ? this.#known.url : this.#ports.address();
  }

  #info(): SessionInfo | null {
    const sequence = this.#known && this.#queue.stored(this.#known.id);
    if (!this.#known || sequence === undefined) return null;
    const { id: shardId, count: shardCount } = this.#shard;
    return { sessionId: this.#known.id, resumeURL: this.#known.url, sequence, shardId, shardCount };
  }

  #begin(id: string, url: string, sequence: number): void {
    this.#known = { id, url, since: Date.now() };
    // READY itself is received next.
    this.#received = sequence - 1;
    this.#leap = undefined;
    this.#queue.begin(id, sequence);
  }

  /**
   * Counts from a new greeting on when Discord greets a session anew: its events would have smaller numbers than the
   * received ones, and count as known.
   */
  #beginAgain({ session_id: id, resume_gateway_url: url }: GatewayReadyDispatchData, sequence: number): void {
    if (id !== this.#known?.id || sequence > this.#received) return;
    this.#queue.end(id);
    this.#begin(id, url, sequence);
  }

  #receive(event: DispatchEvent): void {
    const { payload } = event;
    if (payload.t === "READY") this.#beginAgain(payload.d, event.sequence);
    // A resumed session sends again what waits in the queue.
    if (!this.#known || event.sequence <= this.#received) return;
    if (payload.t === "READY") this.#ready(payload.d);
    this.#bot.places.learn(payload, this.#bot.self.known?.id);
    this.#follows(event.sequence);
    this.#queue.push(this.#known.id, event, this.#received);
    if (payload.t === "INTERACTION_CREATE") respondTo(payload.d, this.#bot);
    if (payload.t === "GUILD_CREATE" && this.#missing.delete(payload.d.id) && this.#missing.size === 0) this.#alive();
    if (payload.t === "RESUMED") this.#alive();
  }

  /**
   * Takes the number of an event that came. A number that does not follow counts only when the next one follows it:
   * otherwise all smaller numbers would count as known, and the account would get no more events.
   */
  #follows(sequence: number): void {
    if (sequence <= this.#received) return;
    if (sequence === this.#received + 1 || sequence - 1 === this.#leap) {
      this.#received = sequence;
      this.#leap = undefined;
      return;
    }
    this.#leap = sequence;
    const fields = { sequence, after: this.#received };
    this.#bot.host.log.warn("an event of Discord has a number that does not follow the one before it", fields);
  }

  #ready({ user, guilds }: ReadyFacts): void {
    const { self, signal } = this.#bot;
    self.known = selfOf(user);
    const missing = new Set(guilds.map(({ id }) => id));
    this.#missing = missing;
    if (missing.size === 0) this.#alive();
    const waited = wait(GUILDS_WITHIN_MS, signal).then(() => {
      if (signal.aborted || missing.size === 0) return;
      missing.clear();
      if (missing === this.#missing) this.#alive();
    });
    background("wait for the servers", waited);
    background("session note", this.note());
  }

  #alive(): void {
    this.#ports.alive();
    if (Date.now() - this.#notedAt > NOTE_EVERY_MS) background("session note", this.note());
  }

  /** Reports the problem. Returns the milliseconds until the next try. */
  #pauseAfter(ending: ConnectionEnding, failures: number): number {
    if (ending.isForgotten && this.#known) {
      this.#queue.end(this.#known.id);
      this.#known = undefined;
    }
    // A session that continues brings missed events by itself; otherwise the host asks for missed messages after
    // trouble.
    if (ending.isPlanned && ending.wasReady) return this.#requested.pauseMs();
    const retryInMs = Math.max(backoff(failures), ending.afterMs ?? 0);
    this.#ports.trouble(ending.reason, retryInMs);
    return retryInMs;
  }
}

interface ReadyFacts {
  readonly user: { readonly id: string; readonly username: string };
  readonly guilds: readonly { readonly id: string }[];
}
