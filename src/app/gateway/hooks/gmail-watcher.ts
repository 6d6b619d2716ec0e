import { spawn } from "node:child_process";
import { isDeepStrictEqual } from "node:util";
import type { GmailPlan } from "../../../automation/hooks/gmail-plan.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import { background } from "../../../utils/background.ts";
import { backoff } from "../../../utils/backoff.ts";
import { pause } from "../../../utils/pause.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { shorten } from "../../../utils/text/shorten.ts";

interface WatcherPorts {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * The plan by the current config; undefined when no mail is to be watched. A text is the reason why mail that should
   * be watched cannot be.
   */
  plan(): GmailPlan | string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the gateway stops. */
  readonly signal: AbortSignal;
}

/** Most milliseconds for registering the watch, and for Tailscale. */
const ONCE_MS = 120_000;
/** Milliseconds after which a watcher has not failed at its start. */
const STEADY_MS = 60_000;
const RESTART = { firstMs: 5000, longestMs: 300_000 };
/** Milliseconds from a signal to the next one, which cannot be ignored. */
const GRACE_MS = 3000;
/** Most characters of a program's last output. */
const MOST_CHARS = 2000;

const IN_USE = /address already in use/i;

/** Variables of the environment that `gog` and Tailscale need; no key of the gateway. */
const KEPT =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|TEMP|TMP|USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT|XDG_.*|DBUS_.*|GOG_.*|GOOGLE_.*|SSL_CERT_(?:FILE|DIR)|(?:https?|no|all)_proxy)$/i;

/** Keeps the watcher of a mail account running, which reports new mail to `/hooks/gmail`. */
export class GmailWatcher {
  readonly #ports: WatcherPorts;
  readonly #env: Record<string, string | undefined>;
  #plan: GmailPlan | string | undefined;
  #running = new AbortController();

  constructor(ports: WatcherPorts) {
    this.#ports = ports;
    this.#env = Object.fromEntries(Object.entries(ports.env).filter(([name]) => KEPT.test(name)));
  }

  /** Starts, replaces or ends the watcher by the current config. Returns at once. */
  follow(): void {
    const { plan, log, signal } = this.#ports;
    const next = plan();
    if (isDeepStrictEqual(next, this.#plan)) return;
    this.#plan = next;
    this.#running.abort();
    this.#running = new AbortController();
    if (typeof next === "string") log.warn("mail is not watched", { why: next, fix: "Run: openclaw doctor" });
    if (typeof next !== "object") return;
    background("mail watcher", this.#watch(next, AbortSignal.any([signal, this.#running.signal])), log);
  }

  async #watch(plan: GmailPlan, signal: AbortSignal): Promise<void> {
    if (plan.tailscale) await this.#once("tailscale", plan.tailscale, signal);
    await this.#once("watch", plan.start, signal);
    background("renewal of the mail watch", this.#renew(plan, signal), this.#ports.log);
    await this.#serve(plan, signal);
  }

  async #renew({ start, renewMs }: GmailPlan, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    for (;;) {
      await pause(renewMs, { clock, signal });
      if (signal.aborted) return;
      await this.#once("watch", start, signal);
    }
  }

  /** Runs a program once. A failure is logged: an earlier registration may still hold. */
  async #once(what: string, argv: readonly string[], signal: AbortSignal): Promise<void> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ONCE_MS)]);
    const end = await this.#run(argv, limited);
    if (signal.aborted) return;
    if (end.why === undefined) this.#ports.log.info("mail watch", { did: what });
    else this.#ports.log.warn("mail watch failed", { did: what, program: argv[0], ...end });
  }

  async #serve({ serve, account }: GmailPlan, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ports;
    let failures = 0;
    while (!signal.aborted) {
      const begunAt = clock.now();
      log.info("mail watcher started", { account });
      const end = await this.#run(serve, signal);
      if (signal.aborted) return;
      failures = clock.now() - begunAt > STEADY_MS ? 0 : failures + 1;
      const waitMs = backoff(failures, RESTART);
      const again = `in ${Math.round(waitMs / 1000)} s`;
      if (IN_USE.test(end.output)) {
        // The watcher that a killed gateway left may hold the port; that watcher ends by itself at some time.
        const fix = "End the other watcher, or set hooks.gmail.serve.port to another port.";
        log.error("mail is not watched: the watcher's port is taken", { output: end.output, fix, again });
      } else log.warn("mail watcher ended", { ...end, again });
      await pause(waitMs, { clock, signal });
    }
  }

  /** Runs a program to its end, or until the signal aborts. `why` is the reason of a failure. Never rejects. */
  async #run(
    [program = "", ...args]: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly output: string; readonly why?: string }> {
    if (signal.aborted) return { output: "", why: "stopped" };
    const ended = Promise.withResolvers<string | undefined>();
    const child = spawn(program, args, { env: this.#env, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    let output = "";
    const hear = (data: Buffer): void => {
      output = (output + data.toString("utf8")).slice(-MOST_CHARS);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", (error) => ended.resolve(errorText(error)));
    child.once("close", (code, by) =>
      ended.resolve(code === 0 ? undefined : `it ended with ${code ?? by ?? "an error"}`),
    );
    const stop = (): void => {
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
    };
    signal.addEventListener("abort", stop, { once: true });
    const why = await ended.promise.finally(() => signal.removeEventListener("abort", stop));
    return { output: shorten(output.trim(), MOST_CHARS), ...(why !== undefined && { why }) };
  }
}
