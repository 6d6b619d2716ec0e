import type { ConnectionState } from "@whiskeysockets/baileys";
import { backoff, BoundedMap, OpenClawError, wait } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Auth } from "./auth.ts";
import type { Baileys } from "../baileys.ts";
import type { WhatsAppConfig } from "../config.ts";
import { endingOf } from "./endings.ts";
import type { Ending } from "./endings.ts";
import { Intake } from "./intake.ts";
import type { Self } from "../view.ts";
import { openSocket } from "./socket.ts";
import type { WaSocket } from "./port.ts";

/** A connection that lasted this long counts as one that worked, like one on which WhatsApp answered one of our messages. */
const LASTING_MS = 30_000;
/** How often arriving frames are reported to the host. */
const ALIVE_EVERY_MS = 5000;
const CLOSING_MS = 800;

interface Parts {
  readonly baileys: Baileys;
  readonly auth: Auth;
  readonly config: WhatsAppConfig;
  readonly host: ChannelHost;
}

/** Keeps one account connected until `close`. */
export class AccountConnection {
  readonly #parts: Parts;
  readonly #end = new AbortController();
  readonly #signal: AbortSignal;
  readonly intake: Intake;
  readonly #sealed = new BoundedMap<string, true>(2000);
  #socket: WaSocket | undefined;
  #isOpen = false;
  #hasWorked = false;
  #self: Self | undefined;
  #aliveAt = 0;
  #waiting: (() => void)[] = [];
  #running: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#signal = AbortSignal.any([parts.host.signal, this.#end.signal]);
    this.intake = new Intake({ ...parts, signal: this.#signal, socket: () => this.#socket });
  }

  /** Resolves when the first connection is open or has failed. Throws `CHANNEL_AUTH` when WhatsApp has ended the link. */
  async start(): Promise<void> {
    await this.intake.begin();
    const first = Promise.withResolvers<Ending | undefined>();
    this.#running = this.#keep(first.resolve);
    const ending = await Promise.race([first.promise, this.#running.then(() => undefined)]);
    if (ending?.kind !== "dead") return;
    throw new OpenClawError("CHANNEL_AUTH", { message: `${capital(ending.reason)}.`, fix: ending.fix });
  }

  /** The socket as soon as it is open; undefined when it does not open within `ms`. */
  async ready(ms: number): Promise<WaSocket | undefined> {
    if (!this.#isOpen && !this.#signal.aborted) {
      const late = new AbortController();
      this.#waiting.push(() => late.abort());
      await wait(ms, AbortSignal.any([late.signal, this.#signal]));
    }
    return this.#isOpen ? this.#socket : undefined;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    // First, and without waiting: a message that is being stored must not be refused on an open connection.
    const closing = this.#socket?.close();
    this.#end.abort();
    await this.#running;
    await this.intake.idle();
    await Promise.race([closing, pauseOf(CLOSING_MS)]);
    this.#parts.auth.close();
  }

  async #keep(first: (ending: Ending | undefined) => void): Promise<void> {
    this.#signal.addEventListener("abort", () => void this.#socket?.close(), { once: true });
    let failures = 0;
    while (!this.#signal.aborted) {
      const began = Date.now();
      const code = await this.#connect(() => first(undefined));
      if (this.#signal.aborted) return;
      if (this.#hasWorked || Date.now() - began > LASTING_MS) failures = 0;
      const ending = endingOf(code, failures);
      first(ending);
      if (ending.kind === "dead") return this.#die(ending);
      await this.#pause(ending, failures++);
    }
  }

  #die({ reason, fix }: Extract<Ending, { kind: "dead" }>): void {
    this.#parts.host.report({ kind: "dead", reason, fix });
  }

  async #pause(ending: Exclude<Ending, { kind: "dead" }>, failures: number): Promise<void> {
    const retryInMs = ending.kind === "again" ? 0 : backoff(failures, ending);
    const reason = ending.kind === "pause" && ending.fix ? `${ending.reason}. ${ending.fix}` : ending.reason;
    this.#parts.host.report({ kind: "trouble", reason, retryInMs });
    await wait(retryInMs, this.#signal);
  }

  /** Opens one connection and waits for its end. Returns the code of the end. */
  async #connect(opened: () => void): Promise<number | undefined> {
    this.#hasWorked = false;
    const ended = Promise.withResolvers<number | undefined>();
    const abort = (): void => ended.resolve(undefined);
    this.#signal.addEventListener("abort", abort, { once: true });
    const changed = (state: Partial<ConnectionState>): void => {
      if (state.connection === "open") {
        this.#opened();
        opened();
      }
      if (state.connection !== "close") return;
      this.#isOpen = false;
      ended.resolve(codeOf(state.lastDisconnect?.error));
    };
    try {
      this.#socket = this.#open(changed);
    } catch (error) {
      this.#parts.host.log.warn("a connection could not be opened", { error: String(error) });
      abort();
    }
    const code = await ended.promise;
    this.#signal.removeEventListener("abort", abort);
    return code;
  }

  #open(changed: (state: Partial<ConnectionState>) => void): WaSocket {
    return openSocket({
      ...this.#parts,
      opened: this.#sealed,
      knownGroup: (jid) => this.intake.knownGroup(jid),
      events: {
        changed,
        take: (message) => this.intake.take(message),
        answered: () => void (this.#hasWorked = true),
        groupChanged: (jid) => this.intake.forgetGroup(jid),
        alive: () => this.#alive(ALIVE_EVERY_MS),
        unreadable: (from, error) =>
          this.#parts.host.log.warn("a message could not be decrypted; its sender's phone is asked for it again", {
            from,
            error: String(error),
          }),
        untaken: (error) => {
          // The account closes: nothing is stored any more.
          if (this.#signal.aborted) return;
          this.#parts.host.log.warn("a message could not be stored", { error: String(error) });
        },
        unsaved: (error) => this.#parts.host.log.warn("keys could not be saved", { error: String(error) }),
      },
    });
  }

  #opened(): void {
    this.#isOpen = true;
    this.#self = this.#socket?.self();
    this.#alive(0);
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Reports a sign of life, unless the connection is not open yet: it also gets frames. */
  #alive(everyMs: number): void {
    if (!this.#isOpen || Date.now() - this.#aliveAt < everyMs) return;
    this.#aliveAt = Date.now();
    const self = this.#self;
    this.#parts.host.report({
      kind: "alive",
      ...(self && { self: { id: `+${self.jid.split(/[:@]/)[0]}`, name: self.name } }),
    });
  }
}

/** A pause that does not keep the process alive. */
const pauseOf = async (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The library's errors are Boom's, with a status below `output`. */
export function codeOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("output" in error)) return undefined;
  const { output } = error;
  if (typeof output !== "object" || output === null || !("statusCode" in output)) return undefined;
  return typeof output.statusCode === "number" ? output.statusCode : undefined;
}
