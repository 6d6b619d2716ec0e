import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beginBoot, type Boot } from "../../store/lock/boots.ts";
import { acquireStateLock, type StateLock } from "../../store/lock/lock.ts";
import { stopDaemon } from "./lifecycle/stop.ts";
import { makeStateDirs, resolvePaths, type StatePaths } from "../config/paths.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import { Live } from "../live.ts";
import { ownerGap } from "../accounts/owner-gap.ts";
import { openLog, type OpenLog } from "../log/log.ts";
import { repairPlugins } from "../plugins/load-options.ts";
import { OpenClawError, withFix } from "../../types/errors.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { copyNote } from "./parts/foreign.ts";
import { closeInherited } from "./lifecycle/inherited.ts";
import { keepConfig, readStartConfig, tellKept, type StartConfig } from "./lifecycle/start-config.ts";
import type { MovingIn } from "./import/moving-in.ts";
import { serviceNotes, type ServiceNotes } from "./lifecycle/notify.ts";
import { guardProcess, type ProcessGuard } from "./lifecycle/process-guard.ts";
import { dashboardAddress } from "../config/control-ui.ts";
import { packageRoot } from "../package-root.ts";
import { ensureGatewayToken } from "../config/gateway-login.ts";

export interface GatewayOptions {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  /** Stops the daemon that holds this state directory first. */
  readonly force?: boolean;
  readonly verbose?: boolean;
  /** `last-valid`: the config that was kept when the gateway last became ready, and not its file. */
  readonly config?: "last-valid";
  readonly movingIn?: MovingIn;
}

/** Milliseconds that runs get to end after SIGTERM, unless OPENCLAW_SHUTDOWN_GRACE_MS says otherwise. */
const GRACE_MS = 30_000;
/** Milliseconds that runs get to end after an uncaught exception, and when the journal can no longer be synced. */
const CRASH_GRACE_MS = 5000;

/** Milliseconds until a start that failed after a restart is tried again. */
const TRY_AGAIN_MS = 5000;

/**
 * Runs the daemon until it is stopped, or an owner asks for a restart. Resolves with the exit code, or with `restart`
 * when the caller is to start the daemon again; rejects with `OpenClawError` when the daemon cannot start or continue.
 * After a restart a failed start is tried again, since nobody may be there to start the process.
 */
export async function runGateway(
  options: GatewayOptions,
  { signalled, isRestart }: RunScene,
): Promise<number | "restart"> {
  closeInherited();
  for (;;) {
    const end = await runOnce(options, { signalled, isRestart });
    if (typeof end !== "object") return end;
    if (!isRestart) throw end.notStarted;
    process.stderr.write(`${withFix(end.notStarted)}\nThe gateway tries again in ${TRY_AGAIN_MS / 1000} seconds.\n`);
    const hasSignal = await Promise.race([signalled.then(() => true), sleep(TRY_AGAIN_MS, false)]);
    if (hasSignal) return 0;
  }
}

/** Facts of the process besides the flags. */
interface RunScene {
  readonly signalled: Promise<NodeJS.Signals>;
  readonly isRestart: boolean;
}

async function runOnce(options: GatewayOptions, { signalled, isRestart }: RunScene): Promise<End> {
  const paths = resolvePaths(process.env);
  // Plugins and child processes find the state directory by this variable.
  process.env["OPENCLAW_STATE_DIR"] = paths.stateDir;
  // Retries are the harness's alone, and the AWS client has no other setting for that.
  process.env["AWS_MAX_ATTEMPTS"] ??= "1";
  let lock: StateLock | undefined;
  try {
    // Open directories are refused before the config is read, because it may name commands that give secrets.
    await makeStateDirs(paths);
    const repaired = await repairPlugins(paths);
    const prepared = await readStartConfig(paths, { wantsKept: options.config === "last-valid", isRestart });
    lock = await takeLock(paths, options.force === true);
    return await serveOnce(prepared, { paths, options, lock, signalled, repaired });
  } catch (error) {
    if (lock) throw error;
    return { notStarted: error };
  } finally {
    await lock?.release();
  }
}

/** Inputs of one start besides its config. */
interface Start {
  readonly paths: StatePaths;
  readonly options: GatewayOptions;
  readonly lock: StateLock;
  readonly signalled: Promise<NodeJS.Signals>;
  /** Lines about the repairs before the start. */
  readonly repaired: readonly string[];
}

/** End of one start: the exit code; or the gateway is to start again, or could not start. */
type End = number | "restart" | { readonly notStarted: unknown };

async function serveOnce(prepared: StartConfig, start: Start): Promise<End> {
  const { contributions, loaded, load } = prepared;
  const { paths, options, lock, signalled, repaired } = start;
  const live = new Live(paths, process.env["HOME"] ?? homedir(), loaded, contributions);
  const log = logFor(live, options.verbose === true);
  for (const text of [...repaired, ...loaded.warnings.map((warning) => warning.text)]) log.warn(text);
  const gap = ownerGap(live.config);
  if (gap) log.warn(gap.message, { fix: gap.fix });
  const copied = await copyNote(paths.stateDir);
  if (copied) log.warn(copied.message, { fix: copied.fix });
  tellKept(prepared, live, log);
  const boot = await beginBoot(paths.stateDir, Date.now());
  live.safeMode = safeModeOf(boot, process.env);
  const guard = guardProcess(log);
  const notes = serviceNotes(process.env, log);
  const listening = (port: number) => lock.note({ port });
  const starting = startGateway(live, { log, load, listening, followingErrors: guard.followPlugins, ...options });
  const failed = starting.then(
    () => undefined,
    (notStarted: unknown) => ({ notStarted }),
  );
  const failure = await Promise.race([failed, rejectWith(guard.crashed)]);
  if (!failure) {
    const gateway = await starting;
    await greet(gateway, live, options.token);
    notes.ready(`Port ${gateway.port}, ${gateway.channelsText()}`);
    await keepConfig(prepared, live, log);
    return serve(gateway, { log, guard, notes, signalled, boot });
  }
  notes.close();
  // A start that says what to mend would not go better without channels.
  if (failure.notStarted instanceof OpenClawError) await endInOrder(boot, log);
  log.flush();
  guard.release();
  return failure;
}

/** A disk that is full does not turn an end into a failed one; it only counts as one that was not in order. */
const endInOrder = (boot: Boot, log: OpenLog): Promise<void> =>
  boot.endsInOrder().catch((error: unknown) => log.warn("the end of this start is not noted", { error }));

/** Why channels and jobs stay off after several starts that did not end in order. */
function safeModeOf({ unclean }: Boot, env: NodeJS.ProcessEnv): string | undefined {
  if (unclean === undefined || env["OPENCLAW_SAFE_MODE"] === "off") return undefined;
  return (
    `safe mode, because ${unclean} starts of the last five minutes ended without a stop. See why in openclaw logs, then: ` +
    "openclaw gateway restart --normal (in a terminal: openclaw gateway run --normal)"
  );
}

async function takeLock(paths: StatePaths, force: boolean): Promise<StateLock> {
  if (force) await stopDaemon(paths.stateDir);
  return acquireStateLock(paths.stateDir);
}

function logFor(live: Live, verbose: boolean): OpenLog {
  const { level, consoleLevel, consoleStyle, file, redactPatterns } = live.config.logging;
  const levels = verbose ? { level: "debug" as const, consoleLevel: "debug" as const } : { level, consoleLevel };
  const { wire: sessionName } = keyNames(() => live.defaultAgent.id);
  return openLog({ dir: live.paths.logs, file, consoleStyle, redactPatterns, sessionName, ...levels });
}

function graceOf(wanted: string | undefined): number {
  return wanted !== undefined && /^\d{1,7}$/.test(wanted) ? Number(wanted) : GRACE_MS;
}

interface Serving {
  readonly log: OpenLog;
  readonly guard: ProcessGuard;
  readonly notes: ServiceNotes;
  readonly boot: Boot;
  readonly signalled: Promise<NodeJS.Signals>;
}

async function serve(gateway: Gateway, { log, guard, notes, boot, signalled }: Serving): Promise<number | "restart"> {
  const graceMs = graceOf(process.env["OPENCLAW_SHUTDOWN_GRACE_MS"]);
  const end = await Promise.race([
    signalled.then((signal) => ({ why: { signal }, graceMs, exit: 0 })),
    guard.crashed.then(({ plugin }) => ({ why: becauseOf(plugin), graceMs: CRASH_GRACE_MS, exit: 1 })),
    gateway.failed.then((error) => ({ why: { because: error.message }, graceMs: CRASH_GRACE_MS, error })),
    gateway.restartAsked.then(() => ({ why: { because: "restart" }, graceMs, exit: "restart" as const })),
  ]);
  log.info("stopping", { ...end.why, graceMs: end.graceMs });
  if (!("exit" in end) || end.exit !== "restart") notes.stopping();
  await gateway.close(end.graceMs);
  notes.close();
  log.info("stopped");
  if ("exit" in end && end.exit !== 1) await endInOrder(boot, log);
  log.flush();
  guard.release();
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

/**
 * Prints a short summary of the started gateway. At a terminal it shows the address with the token, in the fragment
 * that no server sees. Other output may be stored and read by others, so it shows the address alone.
 */
async function greet(gateway: Gateway, live: Live, givenToken?: string): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  if (!isTerminal && live.config.logging.consoleStyle === "json") return;
  const page = dashboardAddress("127.0.0.1", gateway.port, live.config);
  const model = await gateway.modelText();
  const lines = [
    "",
    `  OpenClaw gateway ${gateway.version}`,
    `  Chat      ${isTerminal ? await withToken(page, live, givenToken) : `${page}  (sign in: ${howToSignIn(givenToken)})`}`,
    `  State     ${live.paths.stateDir}`,
    `  Model     ${model}`,
    `  Channels  ${gateway.channelsText()}`,
    "",
    "",
  ];
  process.stdout.write(lines.join("\n"));
}

async function withToken(page: string, live: Live, givenToken: string | undefined): Promise<string> {
  const token = givenToken ?? (await ensureGatewayToken(live.paths, live.config, { env: process.env })).token.reveal();
  return `${page}#token=${token}`;
}

/** The command for the command line, as the output names it: a clone has no `openclaw` on the path. */
function program(): string {
  if (!existsSync(join(packageRoot, "src"))) return "openclaw";
  const file = join("bin", "openclaw.mjs");
  const reached = process.cwd() === packageRoot ? file : join(packageRoot, file);
  return `node ${/\s/.test(reached) ? JSON.stringify(reached) : reached}`;
}

const howToSignIn = (givenToken: string | undefined): string =>
  givenToken === undefined ? `${program()} dashboard` : "with the token of --token";
