import type { ChannelHost, ChannelLink, LinkReport, AccountNotes } from "../../types/chat/channel.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage, MediaItem } from "../../types/chat/message.ts";
import { backoff } from "../../utils/backoff.ts";
import { within } from "../../utils/within.ts";
import { AccountState, troubleOf, type AccountStatus, type AccountTrouble } from "./account-state.ts";
import { CatchUp, type UnaskedPeriod } from "./catch-up.ts";
import { emptyTimes, watchedLink, type LinkWatch, type Times } from "./link.ts";
import type { ChannelPorts, ConfiguredAccount } from "../ports.ts";
import { isFields } from "../../utils/fields.ts";
import { readableName } from "../../utils/text/clean-text.ts";
import { background } from "../../utils/background.ts";
import type { AccountId } from "../../types/ids.ts";
import { SAME_LOGIN_FIX } from "../same-login.ts";
import { fetchForChannel } from "./fetch-file.ts";

/** Silence after which a link counts as stalled, and the interval of that check. */
const STALLED_AFTER_MS = 5 * 60_000;
const WATCH_EVERY_MS = 30_000;
/** How long a link may take to close. */
const CLOSE_WITHIN_MS = 5000;
const FIRST_RESTART_MS = 1000;
const LONGEST_RESTART_MS = 5 * 60_000;
/** The same for an account that the platform refuses. */
const FIRST_RETRIAL_MS = 30_000;
const LONGEST_RETRIAL_MS = 15 * 60_000;

/** Keeps one account of one channel connected. */
export class Supervisor {
  readonly times: Times = emptyTimes();
  readonly #ports: ChannelPorts;
  readonly #log: Log;
  readonly #catchUp: CatchUp;
  readonly #state: AccountState;
  readonly #twin: (self: Identity) => AccountId | undefined;
  #trust = new LinkTrust();
  #account: ConfiguredAccount;
  #restarts = 0;
  #link: ChannelLink | undefined;
  #lastSign = 0;
  #stop = new AbortController();
  #opening: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();
  #forgetTimer: () => void = () => undefined;

  /** `twin`: the account that is already connected as this identity of the same platform. */
  constructor(account: ConfiguredAccount, ports: ChannelPorts, twin: (self: Identity) => AccountId | undefined) {
    this.#account = account;
    this.#ports = ports;
    this.#twin = twin;
    this.#state = new AccountState(ports.clock, () => this.#account);
    this.#log = ports.log.with({ channel: account.adapter.id, account: account.account });
    this.#catchUp = new CatchUp({
      receive: (messages) => this.#receive(messages),
      notes: notesOf(account, ports),
      clock: ports.clock,
      log: this.#log,
    });
  }

  get account(): ConfiguredAccount {
    return this.#account;
  }

  /** Undefined while there is no connection: try again later. */
  get link(): ChannelLink | undefined {
    return this.#link;
  }

  get state(): AccountStatus & {
    /** The part of the account's latest outage that the platform was not asked about. */
    readonly unasked: UnaskedPeriod | undefined;
  } {
    return { ...this.#state.status, unasked: this.#catchUp.unasked };
  }

  /** Begins to connect. `state` reports the progress. */
  start(): void {
    if (!this.#account.enabled) return;
    this.#stop = new AbortController();
    this.#state.start();
    this.#lastSign = this.#ports.clock.now();
    const { stopped } = this.#account;
    if (stopped) return this.#giveUp(stopped, true);
    this.#opening = this.#open(this.#stop.signal);
    this.#watch(this.#stop.signal);
  }

  /** Resolves when the account receives nothing any more. */
  async stop(): Promise<void> {
    this.#state.enter("stopped");
    await this.#end();
  }

  async restart(account: ConfiguredAccount = this.#account): Promise<void> {
    await this.stop();
    this.#account = account;
    this.#restarts = 0;
    this.#state.forgetProblem();
    this.#trust = new LinkTrust();
    this.start();
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { adapter, config } = this.#account;
    try {
      await this.#catchUp.begin();
      const link = await adapter.connect(config, this.#host(signal));
      if (signal.aborted) return await link.close();
      this.#link = watchedLink(link, this.#watched(signal));
      this.#ports.linked?.(adapter.id, this.#account.account);
      background("catch-up", this.#catchUp.run(this.#link), this.#log);
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  #watched(signal: AbortSignal): LinkWatch {
    return {
      sent: () => {
        this.times.outbound = this.#ports.clock.now();
      },
      refused: (reason, fix) => {
        if (!signal.aborted) this.#refused({ reason, fix });
      },
    };
  }

  #host(signal: AbortSignal): ChannelHost {
    return makeHost(this.#account, this.#ports, {
      signal,
      log: this.#log,
      receive: async (messages) => {
        await this.#catchUp.settled();
        await this.#receive(messages);
      },
      report: (state) => {
        if (!signal.aborted) this.#onReport(state);
      },
      busy: (activity) => {
        if (!signal.aborted) this.#state.setActivity(activity);
      },
    });
  }

  async #receive(messages: readonly InboundMessage[]): Promise<void> {
    const now = this.#ports.clock.now();
    this.times.inbound = now;
    this.times.transport = now;
    this.#lastSign = now;
    await this.#ports.receive(messages.map(withPlainNames));
  }

  #onReport(state: LinkReport): void {
    if (state.kind === "dead") return this.#refused(state);
    if (state.kind === "trouble") return this.#onTrouble(state, state.retryInMs);
    if (state.kind === "notices") return this.#state.setNotices(state.notices);
    const twin = state.self && this.#twin(state.self);
    if (state.self && twin !== undefined) return this.#giveUp(sameIdentity(state.self, twin), true);
    this.#lastSign = this.#ports.clock.now();
    this.times.transport = this.#lastSign;
    this.#state.setSelf(state.self);
    const { isTrusted, isFirst } = this.#trust.sign(this.#lastSign);
    if (this.#state.lifecycle === "trouble" && this.#link && (isTrusted || isFirst))
      background("catch-up", this.#catchUp.run(this.#link), this.#log);
    // The problem stays until the link has proved that it receives.
    if (!isTrusted) return this.#state.enter("trouble");
    this.#restarts = 0;
    this.#state.forgetProblem();
    if (this.#state.lifecycle !== "running") this.#log.info("channel connected", { as: this.#state.status.self?.name });
    this.#state.enter("running");
  }

  #onTrouble(trouble: AccountTrouble, retryInMs: number | undefined): void {
    const { reason, fix, isNew } = this.#state.fail(trouble, retryInMs);
    if (isNew) this.#log.warn("channel in trouble", { reason, fix, retryInMs });
    this.#trust.ended(this.#ports.clock.now());
  }

  /** Only a person restarts an account whose settings cannot work. */
  #giveUp(trouble: AccountTrouble, isMisconfigured = false): void {
    const { reason, fix, isNew } = this.#state.giveUp(trouble, isMisconfigured);
    if (isNew) this.#log.error("channel stopped", { reason, fix });
    background("end of a connection", this.#end(), this.#log);
  }

  /** The platform refuses the account. It may accept a token again; a link that it has ended waits for the next login. */
  #refused(trouble: AccountTrouble, isMisconfigured = false): void {
    if (this.#account.adapter.login) return this.#giveUp(trouble, isMisconfigured);
    const ms = backoff(this.#restarts++, { firstMs: FIRST_RETRIAL_MS, longestMs: LONGEST_RETRIAL_MS });
    const { reason, fix, isNew } = this.#state.giveUp(trouble, isMisconfigured, ms);
    if (isNew) this.#log.error("channel stopped", { reason, fix, retryInMs: ms });
    this.#startIn(ms, "dead");
  }

  #failed(error: unknown): void {
    const trouble = troubleOf(error);
    const code = error instanceof OpenClawError ? error.code : undefined;
    if (code === "CHANNEL_AUTH") return this.#refused(trouble, true);
    if (code !== undefined && SETTINGS_CANNOT_WORK.has(code)) return this.#giveUp(trouble, true);
    this.#reopen(trouble);
  }

  #reopen(trouble: AccountTrouble): void {
    const ms = backoff(this.#restarts++, { firstMs: FIRST_RESTART_MS, longestMs: LONGEST_RESTART_MS });
    this.#onTrouble(trouble, ms);
    this.#startIn(ms, "trouble");
  }

  /** Ends the connection, and begins another one unless something else happened meanwhile. */
  #startIn(ms: number, lifecycle: AccountStatus["lifecycle"]): void {
    // The timer starts after the old link is closed: closing cancels the timers of this connection.
    const ended = this.#end().then(() => {
      if (this.#state.lifecycle === lifecycle) this.#forgetTimer = this.#ports.clock.after(ms, () => this.start());
    });
    background("restart of a channel", ended, this.#log);
  }

  #onStall(silentMs: number): void {
    this.#trust.ended(this.#ports.clock.now(), true);
    this.#reopen({ reason: `no sign of life for ${Math.round(silentMs / 1000)} s` });
  }

  #watch(signal: AbortSignal): void {
    this.#forgetTimer = this.#ports.clock.after(WATCH_EVERY_MS, () => {
      if (signal.aborted) return;
      const silentMs = this.#ports.clock.now() - this.#lastSign;
      if (silentMs > STALLED_AFTER_MS) return this.#onStall(silentMs);
      const receivedUntil = this.#state.lifecycle === "running" ? this.#lastSign : undefined;
      if (this.#link && this.#trust.isOpen)
        background("catch-up", this.#catchUp.tick(this.#link, receivedUntil), this.#log);
      this.#watch(signal);
    });
  }

  /** Ends this connection at once. Resolves when its link, and any before it, is closed. */
  async #end(): Promise<void> {
    this.#forgetTimer();
    this.#stop.abort();
    const link = this.#link;
    this.#link = undefined;
    const closed = Promise.all([this.#ended, this.#opening, link?.close()]).then(
      () => undefined,
      (error: unknown) => this.#log.warn("a channel closed with an error", { error: String(error) }),
    );
    this.#ended = this.#waitFor(closed);
    return this.#ended;
  }

  async #waitFor(closed: Promise<void>): Promise<void> {
    const isInTime = await within(closed, CLOSE_WITHIN_MS, this.#ports.clock);
    if (!isInTime) this.#log.warn("a channel did not close in time and is abandoned");
  }
}

type Identity = NonNullable<(LinkReport & { kind: "alive" })["self"]>;

const sameIdentity = ({ name }: Identity, twin: AccountId): AccountTrouble => ({
  reason: `Account ${twin} is connected as ${name} too`,
  fix: SAME_LOGIN_FIX,
});

const SETTINGS_CANNOT_WORK = new Set<string>(["CHANNEL_CONFIG", "SECRET_MISSING"]);

/** A sign of life this long after the first one proves that the link works, not only its opening. */
const PROVEN_AFTER_MS = 20_000;

/**
 * Distinguishes a link that receives from a link that was merely opened: a platform may accept every connection and
 * then stay silent. After a link was silent, or broke off with only its first sign of life, the next link is trusted
 * only after a later sign.
 */
class LinkTrust {
  #isSuspect = false;
  #isProven = false;
  /** When this connection gave its first sign of life. */
  #openedAt: number | undefined;

  /** Records a sign of life. `isFirst`: the first of this connection. */
  sign(now: number): { readonly isTrusted: boolean; readonly isFirst: boolean } {
    const isFirst = this.#openedAt === undefined;
    this.#openedAt ??= now;
    if (now - this.#openedAt >= PROVEN_AFTER_MS) {
      this.#isProven = true;
      this.#isSuspect = false;
    }
    return { isTrusted: !this.#isSuspect, isFirst };
  }

  /** The connection has given a sign of life. */
  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** The connection ended and will be opened again, by us or by its adapter. One that broke off at once does not count as silent. */
  ended(now: number, hasStalled = false): void {
    const wasSilent = !this.#isProven && now - (this.#openedAt ?? now) >= PROVEN_AFTER_MS;
    this.#isSuspect ||= hasStalled || wasSilent;
    this.#isProven = false;
    this.#openedAt = undefined;
  }
}

/** Reports of an adapter to its supervisor. */
interface HostCallbacks {
  receive(messages: readonly InboundMessage[]): Promise<void>;
  report(state: LinkReport): void;
  /** Names the cause of a wait before the account can connect; undefined when the wait is over. */
  busy(activity: string | undefined): void;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Makes the host of one account's adapter. */
function makeHost(account: ConfiguredAccount, ports: ChannelPorts, { busy, ...callbacks }: HostCallbacks): ChannelHost {
  const { adapter, account: id } = account;
  const where = `channels.${adapter.id}`;
  return {
    ...callbacks,
    account: id,
    commands: ports.commands ?? [],
    notes: notesOf(account, ports),
    openMedia: (item) => openMedia(item, ports),
    fetch: (url, request = {}) =>
      fetchForChannel(url, { maxBytes: adapter.limits.media, ...request }, callbacks.signal),
    async folder() {
      if (!ports.folder) throw unsupported(where, "has no folder for keys");
      return ports.folder(adapter.id, id);
    },
    async library(name) {
      if (!ports.library) throw unsupported(where, "cannot fetch a library");
      try {
        return await ports.library({ channel: adapter.id, name, signal: callbacks.signal, fetching: busy });
      } finally {
        busy(undefined);
      }
    },
    serve(path, answer) {
      if (!ports.serve) throw unsupported(where, "cannot receive web requests");
      ports.serve(path, answer, callbacks.signal);
    },
  };
}

const unsupported = (where: string, what: string): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message: `${where} ${what} in this process.`,
    fix: "Run it inside the gateway, or choose a mode of the channel that works without.",
  });

/** The notes of an account: durable when `values` is. */
function notesOf({ adapter, account }: ConfiguredAccount, ports: ChannelPorts): AccountNotes {
  const { values } = ports;
  const name = (key: string): string => `channel:${adapter.id}:${account}:${key}`;
  return { get: (key) => values.get(name(key)), set: (key, value) => values.set(name(key), value) };
}

async function openMedia(item: MediaItem, { media }: ChannelPorts): Promise<Uint8Array> {
  if (item.source.at === "store") return media.read(item.source.id);
  throw new OpenClawError("MEDIA_UNAVAILABLE", {
    message: "The file is not in the media store.",
    fix: "Fetch it before sending it elsewhere.",
  });
}

/**
 * The message with the names that people chose fit to be shown, stored and listed: those of the sender, of the author of a quoted
 * message, of the group and of the thread. A value of a wrong type stays for the journal, which knows what to do about it.
 */
function withPlainNames(message: InboundMessage): InboundMessage {
  if (!isFields(message)) return message;
  const { from, sender, replyTo, news, context } = message;
  return {
    ...message,
    from: isFields(from) ? { ...from, chat: named(from.chat, "title") } : from,
    sender: named(named(sender, "name"), "username"),
    ...(replyTo && { replyTo: named(replyTo, "sender") }),
    ...(news && { news: named(news, "subject") }),
    ...(context && { context: named(context, "threadName") }),
  };
}

function named<Part extends object>(part: Part, field: keyof Part): Part {
  const name: unknown = isFields(part) ? part[field] : undefined;
  return typeof name === "string" ? { ...part, [field]: readableName(name) } : part;
}
