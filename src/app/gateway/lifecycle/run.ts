import { homedir } from "node:os";
import { acquireStateLock, type StateLock } from "../../../store/lock/lock.ts";
import { stopDaemon } from "./stop.ts";
import { applyEnv } from "../../config/env-vars.ts";
import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import { makeStateDirs, resolvePaths, type StatePaths } from "../../config/paths.ts";
import type { Contributions } from "../../../plugins/contributions.ts";
import { Live } from "../../compose/live.ts";
import { ownerGap } from "../../accounts/owner-gap.ts";
import { openLog, type OpenLog } from "../../log/log.ts";
import { loadOptionsFor, repairPlugins } from "../../plugins/load-options.ts";
import { greet } from "./greeting.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { bundledContributions } from "../../contributions/extensions.ts";
import { untilSignal } from "./signals.ts";
import { guardProcess, type ProcessGuard } from "./process-guard.ts";

export interface GatewayOptions {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  /** Stops the daemon that holds this state directory first. */
  readonly force?: boolean;
  readonly verbose?: boolean;
}

/** Milliseconds that runs get to end after SIGTERM, unless OPENCLAW_SHUTDOWN_GRACE_MS says otherwise. */
const GRACE_MS = 30_000;
/** After an uncaught exception, and when the journal can no longer be synced. */
const CRASH_GRACE_MS = 5000;

/**
 * Runs the daemon until it is stopped, through every restart that an owner asks for. Returns the exit code; throws `OpenClawError`
 * when it cannot start or continue.
 */
export async function runGateway(options: GatewayOptions): Promise<number> {
  process.umask(0o077);
  const paths = resolvePaths(process.env);
  // Plugins and child processes look for the state directory here.
  process.env["OPENCLAW_STATE_DIR"] = paths.stateDir;
  // Only the harness retries, and the AWS client has no other setting for that.
  process.env["AWS_MAX_ATTEMPTS"] ??= "1";
  // Before the config is read, because it may name commands that give secrets.
  await makeStateDirs(paths);
  const repaired = await repairPlugins(paths);
  const first = await prepare(paths);
  const lock = await takeLock(paths, options.force === true);
  try {
    // From the beginning, so that a signal during a start also leads to a proper shutdown.
    const rest = { paths, options, lock, signalled: untilSignal() };
    let end = await serveOnce(first, { ...rest, repaired });
    for (let last = first; end === "restart";) {
      const next = await prepare(paths).catch(() => last);
      end = await serveOnce(next, { ...rest, fallback: last });
      last = next;
    }
    return end;
  } finally {
    await lock.release();
  }
}

/** The config in force for one start, with the extensions and plugins that it is of. */
interface Prepared {
  readonly contributions: Contributions;
  readonly loaded: LoadedConfig;
  load(): Promise<LoadedConfig>;
}

async function prepare(paths: StatePaths): Promise<Prepared> {
  const contributions = bundledContributions();
  const load = async () => loadConfig(await loadOptionsFor(contributions, paths));
  const loaded = await load();
  applyEnv(loaded.config, process.env);
  return { contributions, load, loaded };
}

/** What one start is given besides its config. */
interface Start {
  readonly paths: StatePaths;
  readonly options: GatewayOptions;
  readonly lock: StateLock;
  readonly signalled: Promise<NodeJS.Signals>;
  /** What was repaired before it. */
  readonly repaired?: readonly string[];
  /** The config to start with when this one lets no gateway start: nobody may be there to start the process again. */
  readonly fallback?: Prepared;
}

/** Serves until the gateway stops. Returns the exit code, or that it is to start again. */
async function serveOnce({ contributions, loaded, load }: Prepared, start: Start): Promise<number | "restart"> {
  const { paths, options, repaired = [], fallback } = start;
  const live = new Live(paths, process.env["HOME"] ?? homedir(), loaded, contributions);
  const log = logFor(live, options.verbose === true);
  for (const text of [...repaired, ...loaded.warnings.map((warning) => warning.text)]) log.warn(text);
  const gap = ownerGap(live.config);
  if (gap) log.warn(gap.message, { fix: gap.fix });
  const guard = guardProcess(log);
  try {
    const gateway = await startIn(live, { ...start, log, load, guard });
    return await serve(gateway, { ...start, log, guard });
  } catch (error) {
    if (!fallback || !(error instanceof NotStarted)) throw error instanceof NotStarted ? error.cause : error;
    log.error("the gateway did not start with its present config, and starts with the one before", {
      error: error.cause,
    });
  } finally {
    log.flush();
    guard.release();
  }
  const { fallback: _used, ...again } = start;
  return serveOnce({ ...fallback, contributions: bundledContributions() }, again);
}

async function takeLock(paths: StatePaths, force: boolean): Promise<StateLock> {
  if (force) await stopDaemon(paths.stateDir);
  return acquireStateLock(paths.stateDir);
}

function logFor(live: Live, verbose: boolean): OpenLog {
  const { level, consoleLevel, consoleStyle, file, redactPatterns } = live.config.logging;
  const levels = verbose ? { level: "debug" as const, consoleLevel: "debug" as const } : { level, consoleLevel };
  return openLog({ dir: live.paths.logs, file, consoleStyle, redactPatterns, ...levels });
}

function graceOf(wanted: string | undefined): number {
  return wanted !== undefined && /^\d{1,7}$/.test(wanted) ? Number(wanted) : GRACE_MS;
}

interface Serving extends Start {
  readonly log: OpenLog;
  readonly guard: ProcessGuard;
}

/** A start failed with its `cause`. */
class NotStarted extends Error {}

async function startIn(
  live: Live,
  { log, load, guard, lock, options }: Serving & Pick<Prepared, "load">,
): Promise<Gateway> {
  const listening = (port: number) => lock.note({ port });
  const followingErrors = guard.followPlugins;
  try {
    const starting = startGateway(live, { log, load, listening, followingErrors, ...options });
    const gateway = await Promise.race([starting, rejectWith(guard.crashed)]);
    await greet(gateway, live, options.token);
    return gateway;
  } catch (error) {
    throw new NotStarted("the gateway did not start", { cause: error });
  }
}

async function serve(gateway: Gateway, { log, guard, signalled }: Serving): Promise<number | "restart"> {
  const graceMs = graceOf(process.env["OPENCLAW_SHUTDOWN_GRACE_MS"]);
  const end = await Promise.race([
    signalled.then((signal) => ({ why: { signal }, graceMs, exit: 0 })),
    guard.crashed.then(({ plugin }) => ({ why: becauseOf(plugin), graceMs: CRASH_GRACE_MS, exit: 1 })),
    gateway.failed.then((error) => ({ why: { because: error.message }, graceMs: CRASH_GRACE_MS, error })),
    gateway.restartAsked.then(() => ({ why: { because: "restart" }, graceMs, exit: "restart" as const })),
  ]);
  log.info("stopping", { ...end.why, graceMs: end.graceMs });
  await gateway.close(end.graceMs);
  log.info("stopped");
  if ("error" in end) throw end.error;
  return end.exit;
}

const becauseOf = (plugin: string | undefined) => ({
  because: "uncaught exception",
  ...(plugin !== undefined && { plugin }),
});

async function rejectWith(crashed: ProcessGuard["crashed"]): Promise<never> {
  throw (await crashed).error;
}
