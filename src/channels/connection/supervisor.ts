import type { ChannelHost, ChannelLink, LinkReport, Notice } from "../../types/chat/channel.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { NotNow } from "../../types/not-now.ts";
import { Secret } from "../../types/secret.ts";
import { backoff } from "../../utils/backoff.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { within } from "../../utils/within.ts";
import { CatchUp, type UnaskedPeriod } from "./catch-up.ts";
import { LinkTrust } from "./link-trust.ts";
import { makeHost, notesOf } from "./host.ts";
import { ownKeys } from "../own-keys.ts";
import { emptyTimes, watchedLink } from "./link.ts";
import type { LinkWatch, Times } from "./link.ts";
import type { ChannelPorts, ConfiguredAccount } from "../ports.ts";
import { background } from "../../utils/background.ts";

/**
 * `starting` → `running` ⇄ `trouble`. A link that gives no sign of life is closed and opened again; it stays in `trouble` until it
 * gives a sign beyond that of its opening. `dead`: only a person can solve the problem, so nothing is tried until `restart`.
 */
export type Lifecycle = "stopped" | "starting" | "running" | "trouble" | "dead";

/** Silence after which a link counts as stalled, and the interval of that check. */
const STALLED_AFTER_MS = 5 * 60_000;
const WATCH_EVERY_MS = 30_000;
/** How long a link may take to close. */
const CLOSE_WITHIN_MS = 5000;
const FIRST_RESTART_MS = 1000;
const LONGEST_RESTART_MS = 5 * 60_000;

/** Keeps one account of one channel connected. */
export class Supervisor {
  readonly times: Times = emptyTimes();
  readonly #ports: ChannelPorts;
  readonly #log: Log;
  readonly #catchUp: CatchUp;
  #trust = new LinkTrust();
  #account: ConfiguredAccount;
  #lifecycle: Lifecycle = "stopped";
  #since = 0;
  #retryAt: number | undefined;
  #problem: string | undefined;
  #fix: string | undefined;
  #misconfigured = false;
  #attempts = 0;
  #restarts = 0;
  #notices: readonly Notice[] = [];
  #activity: string | undefined;
  #self: { id: string; name: string } | undefined;
  #link: ChannelLink | undefined;
  #lastSign = 0;
  #stop = new AbortController();
  #opening: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();
  #forgetTimer: () => void = () => undefined;

  constructor(account: ConfiguredAccount, ports: ChannelPorts) {
    this.#account = account;
    this.#ports = ports;
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

  get state(): {
    readonly lifecycle: Lifecycle;
    /** Since when it has this lifecycle, in epoch milliseconds. */
    readonly since: number;
    /** When the next attempt is due, while in trouble. */
    readonly retryAt: number | undefined;
    readonly problem: string | undefined;
    /** What a person can do about `problem`. */
    readonly fix: string | undefined;
    readonly notices: readonly Notice[];
    /** What it waits for before it can connect. */
    readonly activity: string | undefined;
    readonly configured: boolean;
    readonly attempts: number;
    readonly self: { id: string; name: string } | undefined;
    /** The part of its latest outage that the platform was not asked about. */
    readonly unasked: UnaskedPeriod | undefined;
  } {
    return {
      lifecycle: this.#lifecycle,
      since: this.#since,
      retryAt: this.#retryAt,
      problem: this.#problem,
      fix: this.#fix,
      notices: this.#notices,
      activity: this.#activity,
      configured: !this.#misconfigured,
      attempts: this.#attempts,
      self: this.#self,
      unasked: this.#catchUp.unasked,
    };
  }

  /** Begins to connect. `state` reports the progress. */
  start(): void {
    if (!this.#account.enabled) return;
    this.#stop = new AbortController();
    this.#enter("starting");
    this.#misconfigured = false;
    this.#notices = [];
    this.#activity = undefined;
    this.#lastSign = this.#ports.clock.now();
    const { stopped } = this.#account;
    if (stopped) return this.#refuse(stopped);
    this.#opening = this.#open(this.#stop.signal);
    this.#watch(this.#stop.signal);
  }

  /** Resolves when the account receives nothing any more. */
  async stop(): Promise<void> {
    this.#enter("stopped");
    await this.#end();
  }

  async restart(account: ConfiguredAccount = this.#account): Promise<void> {
    await this.stop();
    this.#account = account;
    this.#attempts = 0;
    this.#restarts = 0;
    this.#clearProblem();
    this.#trust = new LinkTrust();
    this.start();
  }

  #enter(lifecycle: Lifecycle, retryInMs?: number): void {
    const now = this.#ports.clock.now();
    if (this.#lifecycle !== lifecycle) this.#since = now;
    this.#lifecycle = lifecycle;
    this.#retryAt = retryInMs === undefined ? undefined : now + retryInMs;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { adapter, config } = this.#account;
    try {
      await this.#catchUp.begin();
      const link = await adapter.connect(config, this.#host(signal));
      if (signal.aborted) return await link.close();
      this.#link = watchedLink(link, this.#watched(signal));
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
        if (!signal.aborted) this.#giveUp(reason, fix);
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
        if (!signal.aborted) this.#activity = activity;
      },
    });
  }

  async #receive(messages: readonly InboundMessage[]): Promise<void> {
    const now = this.#ports.clock.now();
    this.times.inbound = now;
    this.times.transport = now;
    this.#lastSign = now;
    await this.#ports.receive(messages);
  }

  #onReport(state: LinkReport): void {
    if (state.kind === "dead") return this.#giveUp(state.reason, state.fix);
    if (state.kind === "trouble") return this.#onTrouble(state, state.retryInMs);
    if (state.kind === "notices") return this.#onNotices(state.notices);
    this.#lastSign = this.#ports.clock.now();
    this.times.transport = this.#lastSign;
    this.#self = state.self ?? this.#self;
    const { isTrusted, isFirst } = this.#trust.sign(this.#lastSign);
    if (this.#lifecycle === "trouble" && this.#link && (isTrusted || isFirst))
      background("catch-up", this.#catchUp.run(this.#link), this.#log);
    // The problem stays until the link has proved that it receives.
    if (!isTrusted) return this.#enter("trouble");
    this.#attempts = 0;
    this.#restarts = 0;
    this.#clearProblem();
    if (this.#lifecycle !== "running") this.#log.info("channel connected", { as: this.#self?.name });
    this.#enter("running");
  }

  #onTrouble(trouble: Trouble, retryInMs: number | undefined): void {
    const { reason, fix } = this.#clean(trouble);
    if (this.#problem !== reason) this.#log.warn("channel in trouble", { reason, fix, retryInMs });
    this.#attempts++;
    this.#trust.ended(this.#ports.clock.now());
    this.#enter("trouble", retryInMs);
    this.#setProblem({ reason, fix });
  }

  #setProblem({ reason, fix }: Trouble): void {
    this.#problem = reason;
    this.#fix = fix;
  }

  #clearProblem(): void {
    this.#problem = undefined;
    this.#fix = undefined;
  }

  /** With the account's own config keys, and without secrets. */
  #clean({ reason, fix }: Trouble): Trouble {
    const clean = (text: string): string => Secret.mask(this.#withOwnKeys(text));
    return { reason: clean(reason), fix: fix === undefined ? undefined : clean(fix) };
  }

  #refuse({ reason, fix }: NonNullable<ConfiguredAccount["stopped"]>): void {
    this.#misconfigured = true;
    this.#giveUp(reason, fix);
  }

  #giveUp(problem: string, remedy: string): void {
    const { reason, fix } = this.#clean({ reason: problem, fix: remedy });
    this.#log.error("channel stopped", { reason, fix });
    this.#enter("dead");
    this.#setProblem({ reason, fix });
    background("end of a connection", this.#end(), this.#log);
  }

  #onNotices(notices: readonly Notice[]): void {
    this.#notices = notices.map(({ problem, fix }) => ({
      problem: this.#withOwnKeys(problem),
      fix: this.#withOwnKeys(fix),
    }));
  }

  #withOwnKeys(text: string): string {
    return ownKeys(text, this.#account);
  }

  #failed(error: unknown): void {
    if (error instanceof OpenClawError && OPERATOR_MUST_ACT.has(error.code)) {
      this.#misconfigured = true;
      return this.#giveUp(error.message, error.fix);
    }
    this.#reopen(troubleOf(error));
  }

  #reopen(trouble: Trouble): void {
    const ms = backoff(this.#restarts++, { firstMs: FIRST_RESTART_MS, longestMs: LONGEST_RESTART_MS });
    this.#onTrouble(trouble, ms);
    // The timer starts after the old link is closed: closing cancels the timers of this connection.
    const ended = this.#end().then(() => {
      if (this.#lifecycle === "trouble") this.#forgetTimer = this.#ports.clock.after(ms, () => this.start());
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
      const receivedUntil = this.#lifecycle === "running" ? this.#lastSign : undefined;
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

/** A problem, and what a person can do about it. */
interface Trouble {
  readonly reason: string;
  readonly fix?: string | undefined;
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof OpenClawError) return { reason: error.message, fix: error.fix };
  return { reason: errorText(error), fix: error instanceof NotNow ? error.fix : undefined };
}

const OPERATOR_MUST_ACT = new Set<string>(["CHANNEL_AUTH", "CHANNEL_CONFIG", "SECRET_MISSING"]);
