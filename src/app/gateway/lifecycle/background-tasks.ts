import { statfs } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { loadAgentSdk } from "../../../harness/attempts/attempt.ts";
import { background } from "../../../utils/background.ts";
import { findDefaultModel } from "../parts/model-text.ts";
import type { Parts } from "../parts/parts.ts";
import { reportReadiness } from "../parts/health.ts";
import type { CapRefusedCall } from "../../../providers/budget/meter.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { lastChat } from "../parts/heartbeat-place.ts";
import { wait } from "../../../utils/pause.ts";
import { gmailPlan } from "../../../automation/hooks/gmail-plan.ts";
import { GmailWatcher } from "../hooks/gmail-watcher.ts";
import { keepBackups } from "../../backup/schedule.ts";
import { cleanUp } from "./cleanup.ts";

/**
 * Starts the tasks that no message causes, such as the watch of the disk. They run until the signal aborts. `port`: the
 * port of the gateway's server.
 */
export function startBackgroundTasks(parts: Parts, signal: AbortSignal, port: number): void {
  background("disk watch", watchDisk(parts, signal), parts.log);
  background("readiness", reportReadiness(parts, signal), parts.log);
  background("waiting messages", reportWaiting(parts, signal), parts.log);
  background("refusals of budgets", tellRefusals(parts, signal), parts.log);
  background("mail watcher", watchMail(parts, port), parts.log);
  background("upkeep", keepUp(parts, signal), parts.log);
  background("backups", backUp(parts, signal), parts.log);
  background("model warm-up", warmUp(parts), parts.log);
}

/** Informs clients which sessions have other messages waiting than before. */
async function reportWaiting({ core, events }: Parts, signal: AbortSignal): Promise<void> {
  for await (const sessionKey of core.dispatch.lanes.waitingFeed.watch(signal))
    events.publish({ event: "session.queue", payload: { sessionKey, ts: Date.now() }, scope: "operator.read" });
}

/** The model SDK is loaded once the server answers, so that the first message does not wait for it. */
async function warmUp(parts: Parts): Promise<void> {
  try {
    await loadAgentSdk();
    const why = await findDefaultModel(parts);
    if (why !== undefined) parts.log.warn("model not usable", { why });
  } catch (error) {
    parts.log.warn("model not ready", { error });
  }
  setEngineFlags();
}

/** Causes of calls for which a person waits; that person is asked or informed in the chat. */
const ATTENDED: ReadonlySet<string> = new Set(["message", "api", "probe"]);

/** Informs an owner, once for each limit and its time, that work which nobody waits for was skipped. */
async function tellRefusals(parts: Parts, signal: AbortSignal): Promise<void> {
  for await (const refused of parts.core.models.budgets.refusals.watch(signal)) {
    parts.log.warn("a budget did not allow a model call", factsOf(refused));
    if (ATTENDED.has(refused.call.cause)) continue;
    try {
      await tell(refused, parts);
    } catch (error) {
      parts.log.error("nobody was told that a budget is used up", { error: errorText(error) });
    }
  }
}

const factsOf = ({ cap, call: { cause, sessionKey, runId }, text }: CapRefusedCall) => ({
  budget: cap.key,
  cause,
  session: sessionKey,
  run: runId,
  why: text,
});

async function tell(refused: CapRefusedCall, { live, core, channels, log }: Parts): Promise<void> {
  const { call, text } = refused;
  const agent = call.agentId ?? live.defaultAgent.id;
  const places = { live, channels, sessions: core.sessions };
  // The notice does not go into the conversation itself, where others may read the spending.
  const { found, problem } = await lastChat(agent, undefined, places);
  if (!found) return log.warn("no chat to tell that a budget is used up", { why: problem });
  const markdown =
    `💰 Skipped (${call.cause}): ${text} I do not say this again for this budget. ` +
    "`/budget` shows the budgets, `/budget raise` allows more.";
  // The outbox sends each key once, also after a restart.
  await core.outbox.deliver({
    replyKey: keyOf(refused),
    to: found.to,
    blocks: [{ kind: "notice", markdown, because: "error" }],
  });
}

/** The reply key of a notice: the same as long as the same limit is meant. */
function keyOf({ cap: { key, place }, because, call }: CapRefusedCall): string {
  const of = place ? [place.scope, place.name, place.since ?? "", place.until ?? ""] : [call.model.id];
  return ["budget", key, because, ...of].join(":");
}

const LOOK_EVERY_MS = 2000;
/** Free bytes below which the operator is warned. */
const LOW = 200 * 1024 * 1024;
/** Free bytes below which each check tries a write, even if no write has failed yet. */
const NEXT_TO_NOTHING = 1024 * 1024;

/** Reports a low or full disk, and its recovery: in the log, and in `channels.disk` for status and readiness. */
async function watchDisk(parts: Pick<Parts, "live" | "log" | "channels">, signal: AbortSignal): Promise<void> {
  let wasLow = false;
  while (!signal.aborted) {
    const free = await freeBytes(parts.live.paths.stateDir);
    const isLow = free !== undefined && free < LOW;
    if (isLow !== wasLow)
      parts.log[isLow ? "error" : "info"](isLow ? "disk almost full" : "disk has free space again", {
        freeMiB: Math.round((free ?? 0) / 1048576),
      });
    wasLow = isLow;
    if (!parts.channels.disk.takesWrites || (free !== undefined && free < NEXT_TO_NOTHING))
      await parts.channels.disk.look();
    await wait(LOOK_EVERY_MS, signal);
  }
}

async function freeBytes(dir: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return bavail * bsize;
  } catch {
    // Some file systems do not report free space; doctor says so.
    return undefined;
  }
}

/** OpenClaw's variable that keeps the gateway from watching mail. */
const SKIP = "OPENCLAW_SKIP_GMAIL_WATCHER";

/** Watches the mail account of `hooks.gmail`, as the config says at any time, until the gateway stops. */
async function watchMail({ live, core, log, channels, events, stopping: signal }: Parts, port: number): Promise<void> {
  // Another gateway on the same state watches the account already.
  if (process.env[SKIP] === "1" || channels.held !== undefined) return;
  const plan = () => gmailPlan(live.config.hooks, port);
  const watcher = new GmailWatcher({ clock: core.ports.clock, log, plan, env: process.env, signal });
  watcher.follow();
  for await (const { event } of events.watch(signal)) if (event === "config.changed") watcher.follow();
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Milliseconds until the first cleanup, which waits until the start is over. */
const FIRST_MS = 60_000;

/** Removes data whose retention time has passed, once a day. */
async function keepUp(parts: Pick<Parts, "live" | "core" | "log" | "maintenance">, signal: AbortSignal): Promise<void> {
  for (let ms = FIRST_MS; !signal.aborted; ms = DAY_MS) {
    await wait(ms, signal);
    if (!signal.aborted) await cleanUp(parts);
  }
}

/** Another gateway on the same state makes the backups already, and a restored copy or an import waits for a person. */
async function backUp({ live, core, log, channels }: Parts, signal: AbortSignal): Promise<void> {
  if (channels.held !== undefined) return;
  const { stateDir } = live.paths;
  const config = () => live.config.backup;
  await keepBackups({ stateDir, env: process.env, config, clock: core.ports.clock, log }, signal);
}

/**
 * Flags of V8 for a gateway that has started. At the start of the process they would cost more than they save;
 * `bin/openclaw.mjs` says why, and docs/performance.md what each of them is worth.
 */
const FLAGS: readonly string[] = [
  // From now on V8 translates a function into machine code when it is called first, not after some hundred calls: what
  // runs now is called for each message.
  "--always-sparkplug",
  "--heap-growing-percent=50",
  // The number of times that V8 collects all garbage when it becomes idle. The second time finds nothing.
  "--memory-reducer-gc-count=1",
  // Frees the memory of a compilation when it is done. Otherwise it waits for a thread that is free: under load that is
  // 10 to 90 MiB.
  "--no-maglev-destroy-on-background",
];

/** Sets the flags, but for those that the command line sets. */
function setEngineFlags(): void {
  const given = new Set(process.execArgv.map(nameOf));
  for (const flag of FLAGS) if (!given.has(nameOf(flag))) setFlagsFromString(flag);
}

/** The name of a flag: `--no-some-flag` and `--some_flag=1` are about the same one. */
const nameOf = (flag: string): string =>
  flag
    .replaceAll("_", "-")
    .replace(/^--(?:no-?)?/, "")
    .replace(/=.*/, "");
