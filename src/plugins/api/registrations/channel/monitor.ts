import type { Clock } from "../../../../types/clock.ts";
import { background } from "../../../../utils/background.ts";
import { backoff } from "../../../../utils/backoff.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { pause } from "../../../../utils/pause.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { within } from "../../../../utils/within.ts";
import { optionalMethodIn } from "../../foreign.ts";
import { pluginLogger } from "../../logging.ts";
import type { BridgeParts } from "./parts.ts";
import { loginFix, refusedLogin, thrownFacts } from "./failures.ts";
import { channelRuntimeOf } from "./runtime.ts";

/** Milliseconds in which a monitor shows that it cannot start. */
const START_MS = 1000;
/** Milliseconds for `stopAccount`, and for the end of `startAccount`. */
const STOP_MS = 2000;
/** A monitor that runs counts as a sign of life this often, because many report none while nobody writes. */
const ALIVE_EVERY_MS = 60_000;

export interface Monitor {
  /** Resolves when the plugin receives nothing any more, or does not say so in time. Never rejects. */
  close(): Promise<void>;
}

/**
 * Calls `gateway.startAccount`, which receives until its signal aborts, and calls it again when it ends before. Rejects when
 * it fails at once.
 */
export async function startMonitor(parts: BridgeParts, account: unknown): Promise<Monitor> {
  const monitor = new RunningMonitor(parts, account);
  await monitor.start();
  return monitor;
}

class RunningMonitor implements Monitor {
  readonly #parts: BridgeParts;
  readonly #account: unknown;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #status: Fields = {};
  #result: unknown;
  #running: Promise<void> = Promise.resolve();
  /** Resolves when the plugin first reports that the account works. */
  readonly #isUp = Promise.withResolvers<false>();

  constructor(parts: BridgeParts, account: unknown) {
    this.#parts = parts;
    this.#account = account;
    this.#signal = AbortSignal.any([this.#stop.signal, parts.host.signal, parts.scope.signal]);
  }

  async start(): Promise<void> {
    const { host, scope } = this.#parts;
    const first = this.#startAccount();
    try {
      const ended = first.then(() => true);
      const isEarly = await Promise.race([ended, this.#isUp.promise, inTime(ended, scope.ports.clock)]);
      host.report({ kind: "alive" });
      // Without a lasting promise, the plugin receives by other means, such as a route.
      this.#running = isEarly ? this.#live(Promise.withResolvers<never>().promise) : this.#keep(first);
    } catch (error) {
      this.#stop.abort();
      throw refusedLogin(this.#parts.channel, error) ?? error;
    }
    background("monitor of a channel", this.#running, scope.log);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const { scope, channel } = this.#parts;
    const ended = [this.#stopAccount(), this.#running];
    const isInTime = await within(Promise.allSettled(ended), STOP_MS, scope.ports.clock);
    if (!isInTime) scope.log.warn("plugin is late", { call: `channel ${channel.id} stopAccount`, ms: STOP_MS });
  }

  async #stopAccount(): Promise<void> {
    const { scope, channel } = this.#parts;
    const stops = [
      optionalMethodIn(channel.gateway, "stopAccount"),
      isFields(this.#result) ? optionalMethodIn(this.#result, "stop") : undefined,
    ];
    try {
      for (const stop of stops) await scope.call(`channel ${channel.id} stopAccount`, () => stop?.(this.#context()));
    } catch (error) {
      scope.log.warn("plugin failed", { call: `channel ${channel.id} stopAccount`, error });
    }
  }

  /** Starts the account again, each time later, until the signal aborts. */
  async #keep(first: Promise<void>): Promise<void> {
    const { host, scope, channel } = this.#parts;
    let running = first;
    for (let failures = 0; ; failures++) {
      const thrown = await this.#live(running).then(
        () => new Error(`the monitor of ${channel.label} ended`),
        (error: unknown) => error,
      );
      if (this.#signal.aborted) return;
      const refused = refusedLogin(channel, thrown);
      if (refused) return host.report({ kind: "dead", reason: refused.message, fix: refused.fix });
      const reason = errorText(thrown);
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason, retryInMs });
      await pause(retryInMs, { clock: scope.ports.clock, signal: this.#signal });
      if (this.#signal.aborted) return;
      running = this.#startAccount();
    }
  }

  /** Waits for the end of a monitor, or for the signal; reports signs of life in the meantime. */
  async #live(running: Promise<void>): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    const abort = () => aborted.resolve();
    this.#signal.addEventListener("abort", abort, { once: true });
    if (this.#signal.aborted) abort();
    let cancel = () => undefined as void;
    const tick = () => {
      cancel = this.#parts.scope.ports.clock.after(ALIVE_EVERY_MS, () => {
        if (problemIn(this.#status) === undefined) this.#parts.host.report({ kind: "alive" });
        tick();
      });
    };
    tick();
    try {
      await Promise.race([running, aborted.promise]);
      // `close` waits, for a bounded time, for the rest of an aborted monitor's work.
      if (this.#signal.aborted) await running.catch(() => undefined);
    } finally {
      cancel();
      this.#signal.removeEventListener("abort", abort);
    }
  }

  async #startAccount(): Promise<void> {
    const { scope, channel } = this.#parts;
    const start = optionalMethodIn(channel.gateway, "startAccount");
    this.#result = await scope.call(`channel ${channel.id} startAccount`, () => start?.(this.#context()));
  }

  /** Argument of `startAccount` and `stopAccount`. */
  #context(): object {
    const { scope, host } = this.#parts;
    const log = pluginLogger(scope.log.with({ account: host.account }));
    return {
      cfg: scope.shownConfig(),
      accountId: host.account,
      account: this.#account,
      runtime: { log: log.info, error: log.error, exit: () => undefined },
      abortSignal: this.#signal,
      log,
      getStatus: () => ({ accountId: host.account, ...this.#status }),
      setStatus: (next: unknown) => this.#setStatus(next),
      channelRuntime: channelRuntimeOf(scope),
    };
  }

  #setStatus(next: unknown): void {
    if (!isFields(next) || this.#signal.aborted) return;
    this.#status = { ...this.#status, ...next };
    const reason = problemIn(this.#status);
    const isAuth = reason !== undefined && thrownFacts(new Error(reason)).isAuth;
    const fix = isAuth ? { fix: loginFix(this.#parts.channel) } : {};
    this.#parts.host.report(reason === undefined ? { kind: "alive" } : { kind: "trouble", reason, ...fix });
    if (reason === undefined) this.#isUp.resolve(false);
  }
}

/** Whether a monitor ended in the time that it has for its start. */
const inTime = (ended: Promise<unknown>, clock: Clock): Promise<boolean> => within(ended, START_MS, clock);

/** The problem that an account's status names; undefined while it says that it runs. */
function problemIn({ running, connected, lastError }: Fields): string | undefined {
  const isDown = connected === false || (running === false && connected !== true);
  if (!isDown) return undefined;
  return typeof lastError === "string" && lastError !== "" ? lastError : "the plugin reports no connection";
}
