import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { wait } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import type { SignalConfig } from "./config.ts";
import { badConfig, isUnknownAccount, Trouble, unknownAccount } from "./failures.ts";

/** A signal-cli that the gateway starts, and restarts after it ended. */
export interface StartedDaemon {
  /** The URL at which it listens; it may change with each start. */
  readonly base: string;
  /** Starts it unless it is running, and waits until it answers. Throws `Trouble`, or `OpenClawError` when the settings cannot work. */
  ready(check: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  /** The last line of its output. */
  lastLine: string;
  /** Why it ended; undefined while it is running. */
  end: string | undefined;
  missing: boolean;
}

const POLL_MS = 250;
const TERM_MS = 3000;
/** Key of the host's note with the process id. */
const PID_NOTE = "daemonPid";
const MAX_LINE = 500;

/** Throws `OpenClawError` when the account is not set. */
export function startedDaemon(config: SignalConfig, host: ChannelHost, signal: AbortSignal): StartedDaemon {
  const account = config.account;
  if (account === undefined) {
    throw badConfig("channels.signal has no account.", "Set channels.signal.account to its phone number.");
  }
  const at = config.httpUrl === undefined ? undefined : new URL(config.httpUrl);
  const hostname = at?.hostname ?? config.httpHost;
  let port = Number(at?.port) || config.httpPort;
  let child: Child | undefined;
  return {
    get base() {
      return `http://${hostname}:${port ?? 0}`;
    },
    async ready(check) {
      if (child?.end !== undefined) child = undefined;
      if (!child) {
        await endOrphan(account, host);
        port = (Number(at?.port) || config.httpPort) ?? (await freePort(hostname));
        if (signal.aborted) throw new Trouble("signal-cli was not started: the channel is stopping");
        child = start(config, { account, address: `${hostname}:${port}`, host });
        await host.notes.set(PID_NOTE, String(child.process.pid ?? ""));
      }
      await waitForAnswer(child, check, { config, account, signal });
    },
    async close() {
      if (child) await end(child);
      await host.notes.set(PID_NOTE, "");
    },
  };
}

function start(config: SignalConfig, place: { account: string; address: string; host: ChannelHost }): Child {
  const { account, address, host } = place;
  const options = [
    "--http",
    address,
    "--no-receive-stdout",
    "--receive-mode",
    config.receiveMode,
    ...(config.ignoreAttachments ? ["--ignore-attachments"] : []),
    ...(config.ignoreStories ? ["--ignore-stories"] : []),
  ];
  const process = spawn(config.cliPath, ["-a", account, "daemon", ...options], { stdio: ["ignore", "ignore", "pipe"] });
  const child: Child = { process, ended: once(process, "close"), lastLine: "", end: undefined, missing: false };
  // The events below record why it ended; this promise only signals that it did.
  child.ended.catch(() => undefined);
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

async function waitForAnswer(
  child: Child,
  check: () => Promise<void>,
  { config, account, signal }: { config: SignalConfig; account: string; signal: AbortSignal },
): Promise<void> {
  const until = Date.now() + config.startupTimeoutMs;
  for (;;) {
    if (child.end !== undefined) throw await whyEnded(child, config, account);
    const hasAnswered = await check().then(
      () => true,
      () => false,
    );
    if (hasAnswered) return;
    if (signal.aborted || Date.now() > until) {
      const fix = "The log has what signal-cli wrote. On a slow machine, raise channels.signal.startupTimeoutMs.";
      throw new Trouble(`signal-cli does not answer (${Math.round(config.startupTimeoutMs / 1000)} s)`, { fix });
    }
    await wait(POLL_MS, signal);
  }
}

async function whyEnded(child: Child, config: SignalConfig, account: string): Promise<Error> {
  if (child.missing) {
    return badConfig(
      `${config.cliPath} cannot be started.`,
      "Install signal-cli, or set channels.signal.cliPath to it, or channels.signal.httpUrl to a running one.",
    );
  }
  // Its last output may not have been read yet. The reason for a failed start is in `child.end` already.
  await child.ended.catch(() => undefined);
  if (isUnknownAccount(child.lastLine)) {
    return unknownAccount(`signal-cli does not know the account ${account}.`);
  }
  const fix = `The log has what signal-cli wrote. To see it by hand: ${config.cliPath} -a ${account} daemon --http`;
  return new Trouble([child.end, child.lastLine].filter(Boolean).join(": "), { fix });
}

async function end(child: Child): Promise<void> {
  if (child.end !== undefined) return;
  child.process.kill("SIGTERM");
  const hard = setTimeout(() => child.process.kill("SIGKILL"), TERM_MS);
  // A failure is in `child.end`, from its "error" event.
  await child.ended.catch(() => undefined);
  clearTimeout(hard);
}

async function freePort(hostname: string): Promise<number> {
  const server = createServer();
  server.listen(0, hostname);
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (typeof address !== "object" || address === null) throw new Trouble("no port is free");
  return address.port;
}

/** Ends the signal-cli of a gateway that was killed: it would block the account. */
async function endOrphan(account: string, host: ChannelHost): Promise<void> {
  const pid = Number(await host.notes.get(PID_NOTE));
  if (!Number.isInteger(pid) || pid <= 1) return;
  const command = await commandOf(pid);
  // The pid may belong to another program by now.
  if (!command.includes(account) || !command.includes(" daemon ")) return;
  host.log.warn("ended a signal-cli that an earlier gateway left behind", { pid });
  kill(pid, "SIGTERM");
  for (let tries = 0; tries * POLL_MS < TERM_MS; tries += 1) {
    await wait(POLL_MS, host.signal);
    if ((await commandOf(pid)) === "") return;
  }
  kill(pid, "SIGKILL");
}

const commandOf = async (pid: number): Promise<string> =>
  new Promise((resolve) => {
    execFile("ps", ["-o", "args=", "-p", String(pid)], (error, stdout) => resolve(error ? "" : stdout.trim()));
  });

function kill(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The process may have ended already.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
