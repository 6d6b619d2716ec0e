import { readTime } from "../../../../automation/cron/reading/local-time.ts";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { OpenClawError } from "../../../../types/errors.ts";

/** A flag that cannot be used as it was given. */
export const wrongFlag = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message: `${message}.`, fix: "See `openclaw cron add --help`." });

interface WatchFlags {
  readonly onExit?: string;
  readonly onExitCwd?: string;
  readonly streamCommand?: string;
  readonly streamCwd?: string;
  readonly streamMatch?: string;
  readonly streamBatchMs?: string;
  readonly streamMaxBatchBytes?: string;
}

interface WhenFlags extends WatchFlags {
  readonly at?: string;
  readonly every?: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly stagger?: string;
  readonly exact?: boolean;
  readonly missed?: string;
  readonly pacingMin?: string;
  readonly pacingMax?: string;
}

interface CommandFlags {
  readonly command?: string;
  readonly commandArgv?: string;
  readonly commandCwd?: string;
  readonly commandEnv?: readonly string[];
  readonly commandInput?: string;
  readonly outputMaxBytes?: string;
}

interface WhatFlags extends CommandFlags {
  readonly message?: string;
  readonly systemEvent?: string;
  readonly model?: string;
  readonly fallbacks?: string;
  readonly thinking?: string;
  readonly timeoutSeconds?: string;
  readonly tools?: string;
  readonly lightContext?: boolean;
}

interface DeliverFlags {
  readonly announce?: boolean;
  readonly deliver?: boolean;
}

interface WhereFlags extends DeliverFlags {
  readonly webhook?: string;
  readonly channel?: string;
  readonly to?: string;
  readonly threadId?: string;
  readonly account?: string;
  readonly bestEffortDeliver?: boolean;
}

interface AlertFlags {
  readonly failureAlert?: boolean;
  readonly failureAlertAfter?: string;
  readonly failureAlertCooldown?: string;
  readonly failureAlertChannel?: string;
  readonly failureAlertTo?: string;
  readonly failureAlertMode?: string;
  readonly failureAlertAccountId?: string;
  readonly failureAlertIncludeSkipped?: boolean;
}

interface ConversationFlags {
  readonly session?: string;
  readonly sessionKey?: string;
  readonly wake?: string;
  readonly agent?: string;
}

interface KeepFlags {
  readonly deleteAfterRun?: boolean;
  readonly keepAfterRun?: boolean;
}

export interface JobFlags extends WhenFlags, WhatFlags, WhereFlags, AlertFlags, ConversationFlags, KeepFlags {
  readonly name?: string;
  readonly description?: string;
  readonly disabled?: boolean;
  readonly json?: boolean;
}

type ClearFlag =
  | "clearAgent"
  | "clearPacing"
  | "clearModel"
  | "clearThinking"
  | "clearFallbacks"
  | "clearTools"
  | "clearChannel"
  | "clearTo"
  | "clearThreadId"
  | "clearAccount";

export interface EditFlags extends JobFlags, Readonly<Partial<Record<ClearFlag, boolean>>> {
  readonly enable?: boolean;
  readonly disable?: boolean;
  readonly clear?: readonly string[];
}

/** The fields of a job that the flags name. Throws a usage error for values that cannot be read here. */
export function jobOf(flags: JobFlags, now: number): Record<string, unknown> {
  const { name, description, session, sessionKey, wake, agent, missed } = flags;
  return defined({
    name,
    description,
    missed,
    sessionTarget: session,
    sessionKey,
    wakeMode: wake,
    agentId: agent,
    deleteAfterRun: flags.keepAfterRun === true ? false : flags.deleteAfterRun,
    schedule: scheduleOf(flags, now),
    pacing: pacingOf(flags),
    payload: payloadOf(flags),
    delivery: deliveryOf(flags),
    failureAlert: alertOf(flags),
  });
}

function scheduleOf(flags: WhenFlags, now: number): Record<string, unknown> | undefined {
  const { at, every, cron, tz, stagger, exact, onExit, streamCommand } = flags;
  if ([at, every, cron, onExit, streamCommand].filter((one) => one !== undefined).length > 1)
    throw wrongFlag("give one of --at, --every, --cron, --on-exit and --stream-command");
  const watched = watchOf(flags);
  if (watched) return watched;
  if (at !== undefined) return { kind: "at", at: timeOf(at, tz, now) };
  if (every !== undefined) return { kind: "every", everyMs: ms("--every", every) };
  if (cron === undefined) return tz === undefined ? undefined : { tz };
  const staggerMs = exact === true ? 0 : stagger && ms("--stagger", stagger);
  return defined({ kind: "cron", expr: cron, tz, staggerMs });
}

function watchOf(flags: WatchFlags): Record<string, unknown> | undefined {
  const { onExit: command, streamCommand, streamMatch: match } = flags;
  if (command !== undefined) return defined({ kind: "on-exit", command, cwd: flags.onExitCwd });
  if (streamCommand === undefined) return undefined;
  return defined({
    kind: "stream",
    command: argvIn("--stream-command", streamCommand),
    cwd: flags.streamCwd,
    mode: match && "match",
    match,
    batchMs: numberOf("--stream-batch-ms", flags.streamBatchMs),
    maxBatchBytes: numberOf("--stream-max-batch-bytes", flags.streamMaxBatchBytes),
  });
}

function pacingOf({ pacingMin: min, pacingMax: max }: WhenFlags): Record<string, unknown> | undefined {
  return min === undefined && max === undefined ? undefined : defined({ min, max });
}

function timeOf(text: string, tz: string | undefined, now: number): string {
  const span = /^\d[\dhmsd.]*$/.test(text.trim()) ? readDuration(text) : undefined;
  if (span !== undefined) return new Date(now + span).toISOString();
  try {
    return new Date(readTime(text, tz ?? "UTC")).toISOString();
  } catch (error) {
    throw wrongFlag(`--at: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function ms(flag: string, text: string): number {
  const found = readDuration(text);
  if (found === undefined) throw wrongFlag(`${flag}: write it as 30m or 2h`);
  return found;
}

function payloadOf(flags: WhatFlags): Record<string, unknown> | undefined {
  const { message, systemEvent, command, commandArgv, model, thinking, lightContext } = flags;
  if ([message, systemEvent, command, commandArgv].filter((one) => one !== undefined).length > 1)
    throw wrongFlag("give one of --message, --system-event, --command and --command-argv");
  const toolsAllow = listOf(flags.tools);
  if (systemEvent !== undefined) return { kind: "systemEvent", text: systemEvent, ...(toolsAllow && { toolsAllow }) };
  const fields = defined({
    message,
    model,
    thinking,
    lightContext,
    toolsAllow,
    fallbacks: listOf(flags.fallbacks),
    timeoutSeconds: numberOf("--timeout-seconds", flags.timeoutSeconds),
    ...commandOf(flags),
  });
  if (Object.keys(fields).length === 0) return undefined;
  return message === undefined ? fields : { kind: "agentTurn", ...fields };
}

/** A text is one for the shell. */
function commandOf({ command, commandArgv, commandCwd: cwd, commandEnv, commandInput: input, ...rest }: CommandFlags) {
  const argv = command === undefined ? argvIn("--command-argv", commandArgv) : ["sh", "-lc", command];
  const outputMaxBytes = numberOf("--output-max-bytes", rest.outputMaxBytes);
  return defined({ kind: argv && "command", argv, cwd, env: envOf(commandEnv), input, outputMaxBytes });
}

function argvIn(flag: string, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw wrongFlag(`${flag}: write a list of JSON, such as ["git", "fetch"]`);
  }
}

function envOf(pairs: readonly string[] | undefined): Record<string, string> | undefined {
  return (
    pairs &&
    Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf("=");
        if (at < 1) throw wrongFlag("--command-env: write NAME=VALUE");
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    )
  );
}

const listOf = (text: string | undefined): readonly string[] | undefined =>
  text
    ?.split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw wrongFlag(`${flag}: write a number`);
  return value;
}

function deliveryOf(flags: WhereFlags): Record<string, unknown> | undefined {
  const { announce, deliver, webhook, channel, to, threadId, account, bestEffortDeliver: bestEffort } = flags;
  if (webhook !== undefined) return defined({ mode: "webhook", to: webhook, bestEffort });
  const named = defined({ channel, to, threadId, accountId: account, bestEffort });
  if (deliver === false) return { ...named, mode: "none" };
  const isWanted = announce === true || deliver === true;
  if (!isWanted && Object.keys(named).length === 0) return undefined;
  return isWanted || to !== undefined || channel !== undefined ? { mode: "announce", ...named } : named;
}

function alertOf(flags: AlertFlags): Record<string, unknown> | false | undefined {
  if (flags.failureAlert === false) return false;
  const fields = defined({
    after: numberOf("--failure-alert-after", flags.failureAlertAfter),
    cooldownMs: flags.failureAlertCooldown && ms("--failure-alert-cooldown", flags.failureAlertCooldown),
    channel: flags.failureAlertChannel,
    to: flags.failureAlertTo,
    mode: flags.failureAlertMode,
    accountId: flags.failureAlertAccountId,
    includeSkipped: flags.failureAlertIncludeSkipped,
  });
  return Object.keys(fields).length === 0 && flags.failureAlert !== true ? undefined : fields;
}

/** The flag and the place of each field that can be removed. */
const CLEARED: Readonly<Record<string, readonly [flag: ClearFlag, head: string, field?: string]>> = {
  agent: ["clearAgent", "agentId"],
  pacing: ["clearPacing", "pacing"],
  model: ["clearModel", "payload", "model"],
  thinking: ["clearThinking", "payload", "thinking"],
  fallbacks: ["clearFallbacks", "payload", "fallbacks"],
  tools: ["clearTools", "payload", "toolsAllow"],
  channel: ["clearChannel", "delivery", "channel"],
  to: ["clearTo", "delivery", "to"],
  "thread-id": ["clearThreadId", "delivery", "threadId"],
  account: ["clearAccount", "delivery", "accountId"],
};

/** A patch for the flags of `edit`. */
export function patchOf(flags: EditFlags, now: number): Record<string, unknown> {
  const patch = jobOf(flags, now);
  for (const name of clearedBy(flags)) {
    const [, head = "", field] = CLEARED[name] ?? [];
    if (head === "") throw wrongFlag(`--clear: "${name}" is none of ${Object.keys(CLEARED).join(", ")}`);
    const below = patch[head];
    patch[head] = field === undefined ? null : { ...(typeof below === "object" ? below : {}), [field]: null };
  }
  if (flags.enable === true) patch["enabled"] = true;
  if (flags.disable === true) patch["enabled"] = false;
  if (Object.keys(patch).length === 0) throw wrongFlag("say what is to be changed");
  return patch;
}

const clearedBy = (flags: EditFlags): readonly string[] => [
  ...(flags.clear ?? []),
  ...Object.entries(CLEARED).flatMap(([name, [flag]]) => (flags[flag] === true ? [name] : [])),
];
