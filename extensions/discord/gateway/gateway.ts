import { backoff, wait } from "openclaw/plugin-sdk";
import type { GatewayInfo } from "../api.ts";
import type { Bot } from "../bot.ts";
import { INTENT_FIX, isBadToken, reasonOf, TOKEN_FIX } from "../failures.ts";
import type { EventQueue } from "../inbound/event-queue.ts";
import type { ConnectionEnding } from "../connection.ts";
import { AUTHENTICATION_FAILED, readShardNote, ShardSession, UNOPENED } from "./session.ts";

/** Discord turns a bot away that identifies more often. docs.discord.com/developers/events/gateway#rate-limiting */
const IDENTIFY_EVERY_MS = 5000;
/** How long an answer of Discord about its gateway is used. */
const INFO_FRESH_MS = 5000;
const SHARDING_REQUIRED = 4011;

/** Problems that the operator must mend before Discord accepts the bot. Close codes of the gateway's documentation. */
const DEAD: Readonly<Record<number, readonly [reason: string, fix: string]>> = {
  [AUTHENTICATION_FAILED]: ["Discord refuses the bot token", TOKEN_FIX],
  4010: ["Discord does not accept the shard", "Restart the channel; report this when it happens again."],
  [SHARDING_REQUIRED]: [
    "the bot is in too many servers for its connections",
    "Remove channels.discord.gatewayUrl if it is set: Discord then says how many connections the bot needs. Then restart the channel.",
  ],
  4012: ["Discord no longer supports version 10 of its gateway", "Update OpenClaw."],
  4013: ["Discord does not know the intents", "Update OpenClaw."],
  4014: ["the bot may not read the text of messages", INTENT_FIX],
};

/** Keeps a bot connected: with one session for each part of its servers, as many as Discord says. */
export class DiscordGateway {
  readonly #bot: Bot;
  readonly #queue: EventQueue;
  #sessions: readonly ShardSession[] = [];
  /** Ids of the shards that are not connected. */
  #down = new Set<number>();
  #info: { readonly answer: Promise<GatewayInfo>; readonly at: number } | undefined;
  #maxConcurrency = 1;
  /** When the next IDENTIFY may be sent, by its place in Discord's limit. */
  readonly #identifyAt = new Map<number, number>();
  readonly #settled = Promise.withResolvers<void>();
  /** Resolves with the first good or bad news. */
  readonly settled = this.#settled.promise;
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves with the first good news, if there ever is any. */
  readonly begun = this.#begun.promise;

  constructor(bot: Bot, queue: EventQueue) {
    this.#bot = bot;
    this.#queue = queue;
  }

  /** Whether Discord itself sends everything since an epoch millisecond. */
  brings(since: number): boolean {
    return this.#sessions.length > 0 && this.#sessions.every((session) => session.brings(since));
  }

  /** Resolves when the signal aborts, or when only the operator can help; never rejects. */
  async run(): Promise<void> {
    const { signal, host } = this.#bot;
    let count = (await readShardNote(0, this.#bot))?.shards;
    while (!signal.aborted) {
      count ??= await this.#recommended();
      const code = count === undefined ? AUTHENTICATION_FAILED : await this.#keep(count);
      if (signal.aborted || code === undefined) break;
      const more = code === SHARDING_REQUIRED ? await this.#recommended() : undefined;
      if (more === undefined || count === undefined || more <= count) {
        const [reason, fix] = DEAD[code] ?? [`the gateway closed the connection (${code})`, "Restart the channel."];
        host.report({ kind: "dead", reason, fix });
        break;
      }
      host.report({ kind: "trouble", reason: `the bot needs ${more} connections instead of ${count}`, retryInMs: 0 });
      count = more;
    }
    this.#settled.resolve();
  }

  /** Notes where each session is. Never rejects. */
  async note(): Promise<void> {
    await Promise.all(this.#sessions.map(async (session) => session.note()));
  }

  /** How many shards Discord recommends; undefined when it refuses the token, or the signal aborts. Never rejects. */
  async #recommended(): Promise<number | undefined> {
    const { config, host, signal } = this.#bot;
    // Another server than Discord's has one.
    if (config.gatewayUrl !== undefined) return 1;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return (await this.#ask()).shards ?? 1;
      } catch (error) {
        if (isBadToken(error)) return undefined;
        const retryInMs = backoff(failures);
        host.report({ kind: "trouble", reason: reasonOf(error), retryInMs });
        this.#settled.resolve();
        await wait(retryInMs, signal);
      }
    }
    return undefined;
  }

  /** Keeps all sessions until one meets a close code after which another try cannot help, or the signal aborts. */
  async #keep(count: number): Promise<number | undefined> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#bot.signal, stop.signal]);
    const ids = Array.from({ length: count }, (_, id) => id);
    this.#down = new Set(ids);
    this.#sessions = await Promise.all(ids.map(async (id) => this.#open(id, count)));
    const codes = await Promise.all(
      this.#sessions.map(async (session) => {
        const code = await session.run(signal);
        stop.abort();
        return code;
      }),
    );
    return codes.find((code) => code !== undefined);
  }

  async #open(id: number, count: number): Promise<ShardSession> {
    const of = count > 1 ? ` (shard ${id} of ${count})` : "";
    const parts = { bot: this.#bot, queue: this.#queue };
    const session = new ShardSession({ id, count }, parts, {
      address: async () => this.#address(count),
      mayIdentify: async (signal) => this.#mayIdentify(id, signal),
      alive: () => this.#alive(id),
      trouble: (reason, retryInMs) => {
        this.#down.add(id);
        this.#bot.host.report({ kind: "trouble", reason: reason + of, retryInMs });
        this.#settled.resolve();
      },
    });
    const note = await readShardNote(id, this.#bot);
    if (note?.shards === count) session.restore(note);
    return session;
  }

  #alive(id: number): void {
    this.#down.delete(id);
    // A shard that works must not hide another's trouble.
    if (this.#down.size > 0) return;
    const { host, self } = this.#bot;
    host.report({ kind: "alive", ...(self.known && { self: self.known }) });
    this.#settled.resolve();
    this.#begun.resolve();
  }

  async #address(count: number): Promise<string | ConnectionEnding> {
    const { url, shards = 1, session_start_limit: limit } = await this.#ask();
    if (shards > count) return { ...UNOPENED, code: SHARDING_REQUIRED };
    const needed = this.#sessions.filter(({ isKnown }) => !isKnown).length;
    if (!limit || limit.remaining >= needed) return url;
    this.#info = undefined;
    const hours = Math.round(limit.reset_after / 360_000) / 10;
    const reason = `Discord lets the bot begin no session for ${hours} hours`;
    return { ...UNOPENED, reason, afterMs: limit.reset_after };
  }

  /** Asks Discord about its gateway. Throws the errors of the API. */
  async #ask(): Promise<GatewayInfo> {
    if (!this.#info || Date.now() - this.#info.at > INFO_FRESH_MS) {
      this.#info = { answer: this.#bot.api.ask<GatewayInfo>("GET", "/gateway/bot"), at: Date.now() };
    }
    const { answer } = this.#info;
    try {
      const info = await answer;
      this.#maxConcurrency = info.session_start_limit?.max_concurrency ?? 1;
      return info;
    } catch (error) {
      this.#info = undefined;
      throw error;
    }
  }

  /** The library's own throttler waits on when its connection is closed, and sends IDENTIFY on the next one. */
  async #mayIdentify(id: number, signal: AbortSignal): Promise<void> {
    const key = id % this.#maxConcurrency;
    const now = Date.now();
    const at = Math.max(now, this.#identifyAt.get(key) ?? 0);
    this.#identifyAt.set(key, at + IDENTIFY_EVERY_MS);
    // An IDENTIFY takes from the limit that the known answer reports.
    this.#info = undefined;
    await wait(at - now, signal);
    signal.throwIfAborted();
  }
}
