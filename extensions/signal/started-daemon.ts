import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { wait } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import type { SignalConfig } from "./config.ts";
import type { Drained, DrainTerms } from "./inbound/drain.ts";
import { endProcess, isRunning, NotedProcess, signalGroup } from "./noted-process.ts";
import { badConfig, isUnknownAccount, reasonOf, Trouble, unknownAccount } from "./failures.ts";

interface Child {
  readonly process: ChildProcess;
  /** Resolves when the process has ended or could not be started; `end` says why. */
  readonly ended: Promise<void>;
  /** The last line of the process's output. */
  lastLine: string;
  /** Why the process ended; undefined while it is running. */
  end: string | undefined;
  /** There is no such program, or the program may not be run. */
  missing: boolean;
  hasAnswered: boolean;
  /** How often in a row the process was waited for and did not answer. */
  silences: number;
}

/** Work of the account for its signal-cli. */
interface Care {
  /** Aborted when the account closes. */
  readonly signal: AbortSignal;
  /** Throws when signal-cli does not answer before the signal aborts. */
  check(signal: AbortSignal): Promise<void>;
  /** Stores the events of the signal-cli at `base`, and has it end. */
  drain(terms: DrainTerms): Promise<Drained>;
}

const POLL_MS = 250;
/** A closing account may take five seconds in all. */
const DRAIN_MS = 1500;
const TERM_MS = 2000;
/** Milliseconds for a signal-cli that an earlier gateway left. */
const TAKE_OVER_MS = 30_000;
const MAX_LINE = 500;
/** A start may take up to so many times `startupTimeoutMs`, after starts that took too long. */
const MOST_SILENCES = 8;

/** A signal-cli that the gateway starts, and restarts after it ended or while it does not answer. */
export class StartedDaemon {
  readonly #config: SignalConfig;
  readonly #host: ChannelHost;
  readonly #care: Care;
  readonly #account: string;
  readonly #noted: NotedProcess;
  #address: string;
  #child: Child | undefined;
  /** Number of signal-cli processes in a row that were ended because they did not answer. */
  #hangs = 0;

  /** Throws `OpenClawError` when the account is not set. */
  constructor(config: SignalConfig, host: ChannelHost, care: Care) {
    if (config.account === undefined) {
      throw badConfig("channels.signal has no account.", "Set channels.signal.account to its phone number.");
    }
    this.#account = config.account;
    this.#config = config;
    this.#host = host;
    this.#care = care;
    this.#noted = new NotedProcess(host);
    this.#address = addressOf(config, 0);
  }

  /** The URL at which signal-cli listens; it may change with each start. */
  get base(): string {
    return `http://${this.#address}`;
  }

  /**
   * Starts signal-cli unless it is running, after the process of an earlier gateway was read and ended. Waits until
   * signal-cli answers. Throws `Trouble`, or `OpenClawError` when the settings cannot work.
   */
  async ready(): Promise<void> {
    if (this.#child?.end !== undefined) this.#child = undefined;
    if (!this.#child) {
      await this.#takeOver();
      this.#child = await this.#start();
    }
    await this.#untilAnswered(this.#child);
  }

  /** Ends signal-cli when all its events are stored. Else leaves it to the next start. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    // A process that an earlier gateway left, and that could not be read yet, stays noted.
    if (!child) return;
    if (child.end === undefined && this.#mayHold(child) && !(await this.#drainAtClose(child))) return;
    await end(child);
    await this.#noted.forget();
  }

  /** Whether signal-cli may hold events. With `receiveMode: "manual"`, nothing arrives before the first listener. */
  #mayHold(child: Child): boolean {
    return child.hasAnswered || this.#config.receiveMode === "on-start";
  }

  async #drainAtClose(child: Child): Promise<boolean> {
    const never = new AbortController().signal;
    const { left, stored, why } = await this.#care.drain({ ms: DRAIN_MS, signal: never, end: () => end(child) });
    if (left === "nothing") {
      this.#host.log.info("signal-cli ended, and everything that it held is stored", { stored });
      return true;
    }
    if (child.end !== undefined) return true;
    child.process.unref();
    this.#host.log.warn("signal-cli was left running: it may hold messages, which the next start reads", {
      pid: child.process.pid,
      stored,
      why: left === "unstored" ? "the journal did not take them" : (why ?? "signal-cli did not give them in time"),
    });
    return false;
  }

  /** Reads and ends the signal-cli of an earlier gateway. It would block the account, and its messages are only in its memory. */
  async #takeOver(): Promise<void> {
    const { log } = this.#host;
    const found = await this.#noted.find(this.#account);
    if (!found) return;
    const { pid } = found;
    this.#address = found.address;
    log.warn("an earlier gateway left a signal-cli behind: it is read, then ended", { pid });
    const { signal } = this.#care;
    const terms = { ms: TAKE_OVER_MS, signal, end: async () => endProcess(found, TERM_MS) };
    const silence = await this.#silence(this.#config.startupTimeoutMs, async () => !(await isRunning(found)));
    if (signal.aborted) throw new Trouble("signal-cli was not started: the channel is stopping");
    const unread: Drained = { left: "unread", stored: 0, why: silence };
    const { left, stored, why } = silence === undefined ? await this.#care.drain(terms) : unread;
    if (left === "unstored" || signal.aborted) {
      throw new Trouble("messages that an earlier signal-cli holds could not be stored yet");
    }
    if (left === "unread" && (await isRunning(found))) {
      log.warn("a signal-cli of an earlier gateway does not answer and is ended: messages that it held are lost", {
        pid,
        why,
      });
      await endProcess(found, TERM_MS);
    } else if (left === "nothing") {
      log.info("the earlier signal-cli ended, and everything that it held is stored", { pid, stored });
    }
    await this.#noted.forget();
  }

  async #start(): Promise<Child> {
    const config = this.#config;
    this.#address = addressOf(config, await freePort(config));
    const started = argumentsOf(config, this.#account, this.#address);
    // A gateway that is killed right after the start leaves a process that the next one finds by its arguments.
    await this.#noted.note(started);
    if (this.#care.signal.aborted) throw new Trouble("signal-cli was not started: the channel is stopping");
    const child = start(config, started, this.#host);
    await this.#noted.note(started, child.process.pid);
    return child;
  }

  async #untilAnswered(child: Child): Promise<void> {
    const { startupTimeoutMs } = this.#config;
    const silence = await this.#silence(startupTimeoutMs, () => child.end !== undefined);
    if (child.end !== undefined) throw await whyEnded(child, this.#config, this.#account);
    if (this.#care.signal.aborted) throw new Trouble("the channel is stopping");
    if (silence === undefined) {
      child.hasAnswered = true;
      child.silences = 0;
      this.#hangs = 0;
      return;
    }
    child.silences += 1;
    const seconds = Math.round(startupTimeoutMs / 1000);
    if (child.silences >= this.#patience(child)) await this.#endHung(child, silence);
    const fix = "The log has what signal-cli wrote. On a slow machine, raise channels.signal.startupTimeoutMs.";
    throw new Trouble(`signal-cli does not answer (${seconds} s): ${silence}`, { fix });
  }

  /**
   * Factor of the start time. A signal-cli that has never answered may be starting on a slow machine: each one gets
   * twice the time of the one before.
   */
  #patience(child: Child): number {
    return child.hasAnswered ? 1 : Math.min(2 ** this.#hangs, MOST_SILENCES);
  }

  async #endHung(child: Child, why: string): Promise<void> {
    this.#hangs += 1;
    const pid = child.process.pid;
    const lost = this.#mayHold(child) ? "messages that it held are lost" : "it held no messages";
    this.#host.log.warn("signal-cli does not answer and is restarted", { pid, why, lost });
    await end(child);
  }

  /**
   * Asks signal-cli until it answers, and gives undefined; else the last reason why it did not: within `ms`, until the
   * account closed or the process ended.
   */
  async #silence(ms: number, hasEnded: () => boolean | Promise<boolean>): Promise<string | undefined> {
    const { signal, check } = this.#care;
    const until = Date.now() + ms;
    let why: string | undefined = "it was not asked";
    // The second look is for a machine that slept during the first one.
    for (let looks = 0; looks < 2 || Date.now() <= until; looks += 1) {
      if (signal.aborted || (await hasEnded())) return why;
      why = await check(AbortSignal.any([AbortSignal.timeout(ms / 2), signal])).then(() => undefined, reasonOf);
      if (why === undefined) return undefined;
      await wait(POLL_MS, signal);
    }
    return why;
  }
}

const addressOf = ({ httpUrl, httpHost, httpPort }: SignalConfig, freePort: number): string => {
  const at = httpUrl === undefined ? undefined : new URL(httpUrl);
  return `${at?.hostname ?? httpHost}:${Number(at?.port) || (httpPort ?? freePort)}`;
};

function argumentsOf(config: SignalConfig, account: string, address: string): readonly string[] {
  return [
    "-a",
    account,
    "daemon",
    "--http",
    address,
    "--no-receive-stdout",
    "--receive-mode",
    config.receiveMode,
    ...(config.ignoreAttachments ? ["--ignore-attachments"] : []),
    ...(config.ignoreStories ? ["--ignore-stories"] : []),
  ];
}

function start(config: SignalConfig, started: readonly string[], host: ChannelHost): Child {
  // The process is in a group of its own, so that a signal to the gateway's group, as by Ctrl-C, does not end it before
  // it was read.
  const process = spawn(config.cliPath, started, { stdio: ["ignore", "ignore", "pipe"], detached: true });
  const child: Child = {
    process,
    ended: new Promise((resolve) => {
      for (const event of ["close", "error"]) process.once(event, () => resolve());
    }),
    lastLine: "",
    end: undefined,
    missing: false,
    hasAnswered: false,
    silences: 0,
  };
  process.on("error", (error) => {
    child.missing = "code" in error && (error.code === "ENOENT" || error.code === "EACCES");
    child.end ??= error.message;
  });
  process.on("exit", (code, name) => {
    child.end ??= `signal-cli ended (${name ?? `code ${code}`})`;
    host.log.warn("signal-cli ended", { code, signal: name });
  });
  createInterface({ input: process.stderr }).on("line", (line) => {
    child.lastLine = line.slice(0, MAX_LINE);
    const isBad = /\b(?:WARN|ERROR)\b|exception|failed/i.test(line);
    host.log[isBad ? "warn" : "info"]("signal-cli", { line: child.lastLine });
  });
  return child;
}

async function whyEnded(child: Child, config: SignalConfig, account: string): Promise<Error> {
  if (child.missing) {
    const fix =
      "Install signal-cli, or set channels.signal.cliPath to it, or channels.signal.httpUrl to a running one. " +
      "The gateway tries again by itself.";
    return new Trouble(`${config.cliPath} cannot be started: ${child.end}`, { fix });
  }
  // The last output of the process may not have been read yet.
  await child.ended;
  if (isUnknownAccount(child.lastLine)) {
    return unknownAccount(`signal-cli does not know the account ${account}.`);
  }
  const fix = `The log has what signal-cli wrote. To see it by hand: ${config.cliPath} -a ${account} daemon --http`;
  return new Trouble([child.end, child.lastLine].filter(Boolean).join(": "), { fix });
}

/** Ends a process. Resolves when it has ended. */
async function end(child: Child): Promise<void> {
  const { pid } = child.process;
  if (child.end !== undefined || pid === undefined) return;
  signalGroup(pid, "SIGTERM");
  const hard = setTimeout(() => signalGroup(pid, "SIGKILL"), TERM_MS);
  await child.ended;
  clearTimeout(hard);
}

async function freePort({ httpHost, httpPort }: SignalConfig): Promise<number> {
  if (httpPort !== undefined) return httpPort;
  const server = createServer();
  server.listen(0, httpHost);
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (typeof address !== "object" || address === null) throw new Trouble("no port is free");
  return address.port;
}
