import { readTime } from "../../../../automation/cron/local-time.ts";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { OpenClawError } from "../../../../types/errors.ts";

/** A flag that cannot be used as it was given. */
export const wrongFlag = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message: `${message}.`, fix: "See `openclaw cron add --help`." });

interface WhenFlags {
  readonly at?: string;
  readonly every?: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly stagger?: string;
  readonly exact?: boolean;
  readonly missed?: string;
}

interface WhatFlags {
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

export interface EditFlags extends JobFlags {
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
    payload: payloadOf(flags),
    delivery: deliveryOf(flags),
    failureAlert: alertOf(flags),
  });
}

function scheduleOf(
  { at, every, cron, tz, stagger, exact }: WhenFlags,
  now: number,
): Record<string, unknown> | undefined {
  if ([at, every, cron].filter((one) => one !== undefined).length > 1)
    throw wrongFlag("give one of --at, --every and --cron");
  if (at !== undefined) return { kind: "at", at: timeOf(at, tz, now) };
  if (every !== undefined) return { kind: "every", everyMs: ms("--every", every) };
  if (cron === undefined) return tz === undefined ? undefined : { tz };
  const staggerMs = exact === true ? 0 : stagger && ms("--stagger", stagger);
  return defined({ kind: "cron", expr: cron, tz, staggerMs });
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
  const { message, systemEvent, model, thinking, lightContext } = flags;
  if (message !== undefined && systemEvent !== undefined) throw wrongFlag("give one of --message and --system-event");
  if (systemEvent !== undefined) return { kind: "systemEvent", text: systemEvent };
  const fields = defined({
    message,
    model,
    thinking,
    lightContext,
    fallbacks: listOf(flags.fallbacks),
    toolsAllow: listOf(flags.tools),
    timeoutSeconds: numberOf("--timeout-seconds", flags.timeoutSeconds),
  });
  if (Object.keys(fields).length === 0) return undefined;
  return message === undefined ? fields : { kind: "agentTurn", ...fields };
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

/** The place of each field that `--clear` removes. */
const CLEARED: Readonly<Record<string, readonly string[]>> = {
  agent: ["agentId"],
  model: ["payload", "model"],
  thinking: ["payload", "thinking"],
  fallbacks: ["payload", "fallbacks"],
  tools: ["payload", "toolsAllow"],
  channel: ["delivery", "channel"],
  to: ["delivery", "to"],
  "thread-id": ["delivery", "threadId"],
  account: ["delivery", "accountId"],
};

/** A patch for the flags of `edit`. */
export function patchOf(flags: EditFlags, now: number): Record<string, unknown> {
  const patch = jobOf(flags, now);
  for (const name of flags.clear ?? []) {
    const path = CLEARED[name];
    if (!path) throw wrongFlag(`--clear: "${name}" is none of ${Object.keys(CLEARED).join(", ")}`);
    const [head = "", field] = path;
    const below = patch[head];
    patch[head] = field === undefined ? null : { ...(typeof below === "object" ? below : {}), [field]: null };
  }
  if (flags.enable === true) patch["enabled"] = true;
  if (flags.disable === true) patch["enabled"] = false;
  if (Object.keys(patch).length === 0) throw wrongFlag("say what is to be changed");
  return patch;
}
