import { execFile } from "node:child_process";
import { NotNow } from "openclaw/plugin-sdk";
import { startsDaemon } from "./config.ts";
import type { SignalConfig } from "./config.ts";
import { badConfig, isUnknownAccount, METHOD_NOT_FOUND, Trouble, unknownAccount } from "./failures.ts";
import type { Person } from "./people.ts";
import { openDaemon, UNREACHED_FIX, DEFAULT_URL, whyNot } from "./rpc.ts";
import type { Daemon } from "./rpc.ts";
import { findSelf } from "./self.ts";

/**
 * The account's number, after signal-cli verified the account by asking Signal for its devices. Throws `OpenClawError` when the
 * settings cannot work or Signal does not know the account, `NotNow` when Signal cannot be asked.
 */
export async function askName(config: SignalConfig, signal: AbortSignal): Promise<string> {
  try {
    return startsDaemon(config) ? await askOwn(config, signal) : await askDaemon(config, signal);
  } catch (error) {
    throw error instanceof Trouble ? new NotNow(error.message, { fix: UNREACHED_FIX, cause: error }) : error;
  }
}

async function askDaemon(config: SignalConfig, signal: AbortSignal): Promise<string> {
  let self: Person = {};
  const account = (): string | undefined => self.number ?? self.uuid ?? config.account;
  const options = { timeoutMs: config.timeoutSeconds * 1000, account };
  const daemon = openDaemon(() => config.httpUrl ?? DEFAULT_URL, options);
  await daemon.check(signal);
  self = await findSelf(daemon, config, signal);
  const name = account() ?? "an account without a number";
  await askSignal(daemon, name, signal);
  return name;
}

/** Asks Signal about the account: a daemon also lists accounts that Signal does not know any more. */
async function askSignal(daemon: Daemon, name: string, signal: AbortSignal): Promise<void> {
  const answer = await daemon.call("listDevices", {}, { signal });
  if (answer.kind === "done") return;
  if (answer.kind === "error" && answer.error.code === METHOD_NOT_FOUND) return;
  const reason = whyNot(answer);
  throw answer.kind === "error" ? refusal(name, reason) : new Trouble(reason);
}

/** Runs signal-cli without a daemon: two daemons cannot serve one account, and the gateway's may be running. */
async function askOwn(config: SignalConfig, signal: AbortSignal): Promise<string> {
  const { account } = config;
  if (account === undefined) {
    throw badConfig("channels.signal has no account.", "Set channels.signal.account to its phone number.");
  }
  const [version] = await Promise.all([versionOf(config, signal), devicesOf(config, account, signal)]);
  return `${account}, ${version}`;
}

/** signal-cli's error while another signal-cli uses the account. The account is registered then. */
const IN_USE = /in use by another instance/i;

/** Resolves when signal-cli could ask Signal for the account's devices, or another signal-cli uses the account. */
async function devicesOf(
  { cliPath, startupTimeoutMs }: SignalConfig,
  account: string,
  signal: AbortSignal,
): Promise<void> {
  const options = { signal, timeout: startupTimeoutMs };
  return new Promise((resolve, reject) => {
    let output = "";
    const child = execFile(cliPath, ["-a", account, "listDevices"], options, (error) => {
      if (!error || IN_USE.test(output)) resolve();
      // `versionOf` reports that the program cannot be run.
      else if (error.code === "ENOENT" || error.code === "EACCES") resolve();
      else reject(refusal(account, output.trim().split("\n").at(-1) || error.message));
    });
    child.stderr?.on("data", (text: string) => {
      output += text;
      if (IN_USE.test(output)) child.kill();
    });
  });
}

function refusal(account: string, reason: string): Error {
  if (isUnknownAccount(reason)) return unknownAccount(`Signal does not know the account ${account}: ${reason}`);
  return new NotNow(`Signal could not be asked about ${account}: ${reason}`);
}

/** The first version whose events have ids. */
const LEAST = [0, 14] as const;

function named(version: string): string {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? [];
  const isOld = Number(major) === LEAST[0] && Number(minor) < LEAST[1];
  return isOld
    ? `${version}, which is too old: it loses a message that arrives while the gateway is killed. Update to ${LEAST.join(".")}`
    : version;
}

/** The version that signal-cli prints. Throws `OpenClawError` when it cannot be run. */
async function versionOf(config: SignalConfig, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(config.cliPath, ["--version"], { signal, timeout: config.startupTimeoutMs }, (error, stdout) => {
      if (!error) return resolve(named(stdout.trim()));
      const fix = "Install signal-cli and Java, or set channels.signal.cliPath.";
      reject(badConfig(`${config.cliPath} cannot be run.`, fix, error));
    });
  });
}
