import type { APIGatewayBotInfo } from "discord-api-types/v10";
import { background, backoff, wait } from "openclaw/plugin-sdk";
import { z } from "zod";
import { selfOf } from "../api.ts";
import type { Self } from "../api.ts";
import { Connection } from "./connection.ts";
import type { Ending, Event } from "./connection.ts";
import { INTENT_FIX, isBadToken, outcomeOf, TOKEN_FIX } from "../failures.ts";
import type { Inbox } from "../inbound/inbox.ts";
import { defer } from "../inbound/interactions.ts";
import { readOwnNote } from "openclaw/plugin-sdk";
import type { Room } from "../room.ts";

/** Guilds, their messages and reactions, direct messages and their reactions, and the text of messages. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13) | (1 << 15);
/** After READY each guild is told by an event of its own; one that is down is not waited for. */
const GUILDS_WITHIN_MS = 5000;
/** A bot that begins sessions faster is turned away. docs.discord.com/developers/events/gateway#rate-limiting */
const IDENTIFY_EVERY_MS = 5000;
/** Then the address that the session was given is taken for gone. */
const RESUME_URL_TRIES = 3;
const NOTE = "session";
const NOTE_EVERY_MS = 2000;
const noteShape = z.object({
  id: z.string(),
  url: z.string(),
  self: z.object({ id: z.string(), name: z.string() }),
  since: z.number(),
  sequence: z.number(),
  terms: z.string(),
});

/** A session begun beyond `remaining` costs the bot its token. A server of one's own may set no limit. */
type GatewayInfo = Pick<APIGatewayBotInfo, "url"> & Partial<Pick<APIGatewayBotInfo, "session_start_limit">>;
const UNBEGUN: Ending = { code: 1006, reason: "", wasReady: false, isForgotten: false, isPlanned: false };

interface Known {
  readonly id: string;
  readonly url: string;
  readonly self: Self;
  /** Epoch milliseconds; from then on Discord itself delivers what was missed. */
  readonly since: number;
}

/** What a person must mend before the gateway lets us in. Close codes of the gateway's documentation. */
const DEAD: Readonly<Record<number, readonly [reason: string, fix: string]>> = {
  4004: ["Discord refuses the bot token", TOKEN_FIX],
  4010: ["Discord does not take the shard", "Report this: the bot does not shard."],
  4011: ["the bot is in too many guilds for one connection", "Take the bot out of some guilds; 2,500 is the most."],
  4012: ["Discord does not speak version 10 of its gateway any more", "Update OpenClaw."],
  4013: ["Discord does not know the intents", "Update OpenClaw."],
  4014: ["the bot may not read the text of messages", INTENT_FIX],
};

/**
 * Keeps a session of the gateway over its connections. What the inbox has stored need not come again; the rest does, also
 * after a restart of the gateway, as long as Discord remembers the session.
 */
export class Session {
  readonly #room: Room;
  readonly #inbox: Inbox;
  #known: Known | undefined;
  #heard: number | undefined;
  #noted = 0;
  #missing = new Set<string>();
  #identified = 0;
  readonly #settled = Promise.withResolvers<void>();
  /** Resolves with the first good or bad news. */
  readonly settled = this.#settled.promise;
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves with the first good news, if there ever is any. */
  readonly begun = this.#begun.promise;

  constructor(room: Room, inbox: Inbox) {
    this.#room = room;
    this.#inbox = inbox;
  }

  /** Whether nothing since an epoch millisecond has to be asked for: the session brings it. */
  brings(since: number): boolean {
    return this.#known !== undefined && this.#known.since <= since;
  }

  /** Resolves when the signal aborts or nothing can be done any more; never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#room;
    await this.#restore().catch((error: unknown) => {
      this.#room.host.log.warn("the last session with Discord could not be read", { error: String(error) });
    });
    for (let failures = 0; !signal.aborted; failures++) {
      const ending = await this.#connect(failures);
      if (signal.aborted) break;
      if (ending.wasReady) failures = 0;
      const ms = this.#judge(ending, failures);
      this.#settled.resolve();
      if (ms === undefined) break;
      await wait(ms, signal);
    }
    this.#settled.resolve();
  }

  /** After the last event was stored: what a later start needs to go on. Never rejects. */
  async note(): Promise<void> {
    const { host } = this.#room;
    const { sequence } = this.#inbox;
    if (!this.#known || sequence === undefined) return;
    this.#noted = Date.now();
    const text = JSON.stringify({ ...this.#known, sequence, terms: this.#terms });
    await host.notes.set(NOTE, text).catch((error: unknown) => {
      host.log.warn("the place in Discord's session could not be noted", { error: String(error) });
    });
  }

  /** A session made on other terms is not gone on with. */
  get #terms(): string {
    const { apiUrl, gatewayUrl = "" } = this.#room.config;
    return [INTENTS, apiUrl, gatewayUrl].join(" ");
  }

  async #restore(): Promise<void> {
    const { host, self } = this.#room;
    const noted = await readOwnNote(host, NOTE, noteShape);
    if (!noted) return;
    const { id, url, self: earlier, since, sequence, terms } = noted;
    if (terms !== this.#terms || (self.known && self.known.id !== earlier.id)) return;
    self.known = earlier;
    this.#known = { id, url, self: earlier, since };
    this.#heard = sequence;
    this.#inbox.begin(id, sequence);
  }

  async #connect(failures: number): Promise<Ending> {
    const { api, config, signal } = this.#room;
    try {
      const session =
        this.#known && this.#heard !== undefined ? { id: this.#known.id, sequence: this.#heard } : undefined;
      const base = await this.#address(session !== undefined, failures);
      if (typeof base !== "string") return base;
      if (!session) this.#identified = Date.now();
      const connection = new Connection({
        url: `${base.replace(/\/?$/, "/")}?v=10&encoding=json`,
        token: api.token,
        intents: INTENTS,
        session,
        readyTimeoutMs: config.gatewayReadyTimeoutMs,
        signal,
        sequence: () => this.#inbox.sequence ?? null,
        heard: (event) => this.#take(event),
        odd: (what) =>
          this.#room.host.log.warn("what Discord's gateway sent could not be read and was left out", { what }),
        beaten: () => {
          if (this.#missing.size === 0) this.#alive();
        },
      });
      return await connection.run();
    } catch (error) {
      const outcome = outcomeOf(error);
      const reason = outcome.kind === "sent" ? "" : outcome.reason;
      return { ...UNBEGUN, code: isBadToken(error) ? 4004 : 1006, reason };
    }
  }

  /** The address of the gateway, or why no session may be begun there. Throws what the API throws. */
  async #address(goesOn: boolean, failures: number): Promise<string | Ending> {
    const { api, config } = this.#room;
    if (config.gatewayUrl !== undefined) return config.gatewayUrl;
    if (goesOn && this.#known && failures < RESUME_URL_TRIES) return this.#known.url;
    const { url, session_start_limit: limit } = await api.ask<GatewayInfo>("GET", "/gateway/bot");
    if (goesOn || limit === undefined || limit.remaining > 0) return url;
    const hours = Math.round(limit.reset_after / 360_000) / 10;
    const reason = `Discord lets the bot begin no session for ${hours} hours`;
    return { ...UNBEGUN, reason, afterMs: limit.reset_after };
  }

  #take(event: Event): void {
    const { payload } = event;
    if (payload.t === "READY") {
      this.#begin(payload.d, event.sequence);
      if (this.#missing.size === 0) this.#alive();
    }
    this.#heard = event.sequence;
    this.#room.places.learn(payload, this.#room.self.known?.id);
    this.#inbox.push(event);
    if (payload.t === "INTERACTION_CREATE") defer(payload.d, this.#room);
    if (payload.t === "GUILD_CREATE" && this.#missing.delete(payload.d.id) && this.#missing.size === 0) this.#alive();
    if (payload.t === "RESUMED") this.#alive();
  }

  #begin(ready: ReadyFacts, sequence: number): void {
    const { self, signal } = this.#room;
    self.known = selfOf(ready.user);
    this.#known = { id: ready.session_id, url: ready.resume_gateway_url, self: self.known, since: Date.now() };
    this.#inbox.begin(ready.session_id, sequence);
    this.#missing = new Set(ready.guilds.map(({ id }) => id));
    const missing = this.#missing;
    const waited = wait(GUILDS_WITHIN_MS, signal).then(() => {
      if (signal.aborted || missing.size === 0) return;
      missing.clear();
      if (missing === this.#missing) this.#alive();
    });
    background("wait for the servers", waited);
    background("session note", this.note());
  }

  #alive(): void {
    const { host, self } = this.#room;
    host.report({ kind: "alive", ...(self.known && { self: self.known }) });
    this.#settled.resolve();
    this.#begun.resolve();
    if (Date.now() - this.#noted > NOTE_EVERY_MS) background("session note", this.note());
  }

  /** Tells the host what is wrong. Milliseconds until the next try; undefined when there is none. */
  #judge(ending: Ending, failures: number): number | undefined {
    const { host } = this.#room;
    const dead = DEAD[ending.code];
    if (dead) {
      const [reason, fix] = dead;
      host.report({ kind: "dead", reason, fix });
      return undefined;
    }
    if (ending.isForgotten) this.#known = undefined;
    const mayIdentify = this.#known ? 0 : this.#identified + IDENTIFY_EVERY_MS - Date.now();
    const retryInMs = Math.max(backoff(failures), mayIdentify, ending.afterMs ?? 0);
    // A session that goes on brings what was missed by itself; for one that does not, the host asks after trouble.
    if (ending.isPlanned) return 0;
    host.report({ kind: "trouble", reason: ending.reason, retryInMs });
    return retryInMs;
  }
}

interface ReadyFacts {
  readonly session_id: string;
  readonly resume_gateway_url: string;
  readonly user: { readonly id: string; readonly username: string };
  readonly guilds: readonly { readonly id: string }[];
}
