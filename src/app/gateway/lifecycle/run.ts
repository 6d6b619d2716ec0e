import { homedir } from "node:os";
import { acquireStateLock, type StateLock } from "../../../store/lock/lock.ts";
import { stopDaemon } from "./stop.ts";
import { applyEnv } from "../../config/env-vars.ts";
import { loadConfig } from "../../config/load.ts";
import { makeStateDirs, resolvePaths, type StatePaths } from "../../config/paths.ts";
import { Live } from "../../compose/live.ts";
import { ownerGap } from "../../accounts/owner-gap.ts";
import { openLog, type OpenLog } from "../../log/log.ts";
import { loadOptionsFor, repairPlugins } from "../../plugins/load-options.ts";
import { greet } from "./greeting.ts";
import { startGateway } from "../gateway.ts";
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

/** Runs the daemon until it is stopped. Returns the exit code; throws `OpenClawError` when it cannot start or continue. */
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
  const contributions = bundledContributions();
  const load = async () => loadConfig(await loadOptionsFor(contributions, paths));
  const loaded = await load();
  applyEnv(loaded.config, process.env);
  const lock = await takeLock(paths, options.force === true);
  try {
    const live = new Live(paths, process.env["HOME"] ?? homedir(), loaded, contributions);
    const log = logFor(live, options.verbose === true);
    for (const text of [...repaired, ...loaded.warnings.map((warning) => warning.text)]) log.warn(text);
    const gap = ownerGap(live.config);
    if (gap) log.warn(gap.message, { fix: gap.fix });
    return await serve(live, { log, lock, options, load });
  } finally {
    await lock.release();
  }
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

interface Serving {
  readonly log: OpenLog;
  readonly lock: StateLock;
  readonly options: GatewayOptions;
  readonly load: () => ReturnType<typeof loadConfig>;
}

async function serve(live: Live, { log, lock, options, load }: Serving): Promise<number> {
  // From the beginning, so that a signal during the start also leads to a proper shutdown.
  const signalled = untilSignal();
  const guard = guardProcess(log);
  const listening = (port: number) => lock.note({ port });
  const followingErrors = guard.followPlugins;
  const starting = startGateway(live, { log, load, listening, followingErrors, ...options });
  const gateway = await Promise.race([starting, rejectWith(guard.crashed)]);
  await greet(gateway, live, options.token);
  const end = await Promise.race([
    signalled.then((signal) => ({ why: { signal }, graceMs: graceOf(process.env["OPENCLAW_SHUTDOWN_GRACE_MS"]) })),
    guard.crashed.then(({ plugin }) => ({ why: becauseOf(plugin), graceMs: CRASH_GRACE_MS, exit: 1 })),
    gateway.failed.then((error) => ({ why: { because: error.message }, graceMs: CRASH_GRACE_MS, error })),
  ]);
  log.info("stopping", { ...end.why, graceMs: end.graceMs });
  await gateway.close(end.graceMs);
  log.info("stopped");
  log.flush();
  guard.release();
  if ("error" in end) throw end.error;
  return "exit" in end ? end.exit : 0;
}

const becauseOf = (plugin: string | undefined) => ({
  because: "uncaught exception",
  ...(plugin !== undefined && { plugin }),
});

async function rejectWith(crashed: ProcessGuard["crashed"]): Promise<never> {
  throw (await crashed).error;
}
