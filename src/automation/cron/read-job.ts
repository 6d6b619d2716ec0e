import { z } from "zod";
import {
  cronWish,
  problemIn,
  cronAt,
  cronKinds,
  cronZone,
  type CronWish,
  type CronSchedule,
} from "../../types/cron/job.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { whatOf } from "./list.ts";
import { inWordsOfToday } from "./reading/old-words.ts";
import { readDuration } from "../../utils/time/duration.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { readTime } from "./reading/local-time.ts";
import { slotTimes } from "./reading/times.ts";

/** Values that a schedule is read with. */
interface ReadingTimes {
  readonly now: number;
  /** IANA name of the zone for times and expressions that name none. */
  readonly timezone: string;
}

/** A schedule after `withTimes`: a time may name its zone, and an expression must have a slot. */
const scheduleShape = z
  .discriminatedUnion("kind", [cronAt.extend({ tz: cronZone.optional() }), ...cronKinds])
  .transform((given, context): CronSchedule => {
    try {
      if (given.kind === "at") return { kind: "at", at: new Date(readTime(given.at, given.tz ?? "UTC")).toISOString() };
      if (given.kind === "cron" && slotTimes(given, "check").next(0) === undefined)
        throw new Error(`"${given.expr}" never occurs`);
      return given;
    } catch (error) {
      const path = [given.kind === "at" ? "at" : "expr"];
      context.addIssue({ code: "custom", message: errorText(error), path, input: given });
      return z.NEVER;
    }
  });

/**
 * A schedule with the present values of its open fields: a time from now on, the beginning of an interval, the zone.
 */
function withTimes(given: unknown, { now, timezone }: ReadingTimes): unknown {
  if (!isFields(given)) return given;
  if (given["kind"] === "every") return { ...given, anchorMs: given["anchorMs"] ?? now };
  if (given["kind"] === "cron") return { ...given, tz: given["tz"] ?? timezone };
  const { at: time } = given;
  const isSpan = given["kind"] === "at" && typeof time === "string" && /^\d[\dhmsd.]*$/.test(time.trim());
  const ms = isSpan ? readDuration(time) : undefined;
  return ms === undefined ? given : { ...given, at: new Date(now + ms).toISOString() };
}

/** Values that a job is read with. */
export interface ReadingPorts {
  readonly now: number;
  /** IANA name of the zone for times and expressions that name none. */
  readonly timezone: string;
  /** `cron.webhook`, for older jobs that have only `notify`. */
  readonly webhook?: string | undefined;
}

const TARGET = /^(?:main|isolated|session:\P{Cc}{1,300})$/u;

/** A job in the present fields, before its defaults are set. */
const givenJob = cronWish.extend({
  name: cronWish.shape.name.optional(),
  sessionTarget: z.string().optional(),
  schedule: scheduleShape,
});

/**
 * Fields that other gateways write. They mean nothing here: no text of strangers joins a job, and a list of tools is
 * used as it is.
 */
const UNUSED = new Set(["allowUnsafeExternalContent", "toolsAllowIsDefault"]);

/** The problem of a job that cannot be accepted; it begins with the path of the field. */
export interface BadJob {
  readonly problem: string;
}

/** Fields without a function in this gateway. A job with such a field would not do what its author wants. */
const NOT_BUILT = ["trigger"];
const OTHER_KINDS = new Set(["script", "heartbeat", "skillCollectionReview"]);

/** Reads a job in the fields of any version. */
export function readJob(given: unknown, ports: ReadingPorts): CronWish | BadJob {
  if (!isFields(given)) return { problem: "a job is an object with a schedule and a payload" };
  const fields = inWordsOfToday(withoutBlanks(given, [null, ""]), ports.webhook);
  const unknown = notBuilt(fields);
  if (unknown !== undefined) return { problem: unknown };
  const { payload, schedule } = fields;
  const known = isFields(payload) ? withoutUnused(payload) : payload;
  const read = givenJob.safeParse({ ...fields, payload: known, schedule: withTimes(schedule, ports) });
  return read.success ? complete(read.data) : { problem: problemIn(read.error) };
}

const withoutUnused = (payload: Fields): Fields =>
  Object.fromEntries(Object.entries(payload).filter(([name]) => !UNUSED.has(name)));

function notBuilt(fields: Fields): string | undefined {
  const named = NOT_BUILT.find((name) => fields[name] !== undefined);
  if (named !== undefined) return `${named} is not supported: this gateway runs each slot of the schedule`;
  for (const part of ["schedule", "payload"]) {
    const value = fields[part];
    const kind = isFields(value) ? value["kind"] : undefined;
    if (typeof kind === "string" && OTHER_KINDS.has(kind))
      return `${part}.kind "${kind}" is not supported by this gateway`;
  }
  return undefined;
}

function complete(read: z.output<typeof givenJob>): CronWish | BadJob {
  const {
    payload: what,
    sessionTarget = what.kind === "systemEvent" ? "main" : "isolated",
    name,
    sessionKey: key,
  } = read;
  const target = sessionTarget === "current" && key !== undefined ? `session:${key}` : sessionTarget;
  if (!TARGET.test(target))
    return {
      problem: `sessionTarget: "${target}" is none of main, isolated, current (in a conversation) and session:<key>`,
    };
  const unfit = unfitIn(read);
  if (unfit !== undefined) return { problem: unfit };
  const misplaced = misplacedIn(target, what);
  if (misplaced !== undefined) return { problem: `sessionTarget: ${misplaced}` };
  const announced =
    what.kind !== "systemEvent" && target === "isolated" ? { delivery: { mode: "announce" as const } } : {};
  return { ...announced, ...read, sessionTarget: target, name: name ?? nameOf(what) };
}

function unfitIn({ schedule, pacing: pace, payload }: z.output<typeof givenJob>): string | undefined {
  if (pace && schedule.kind !== "every" && schedule.kind !== "cron")
    return `pacing: a job of the kind ${schedule.kind} has no next time`;
  return schedule.kind === "stream" && payload.kind === "command"
    ? "payload.kind: the lines of a stream are for an agent; a command cannot take them"
    : undefined;
}

function misplacedIn(target: string, { kind }: CronWish["payload"]): string | undefined {
  if (kind === "systemEvent" && target === "isolated")
    return "a systemEvent is for a conversation; an isolated run needs an agentTurn with a message";
  return kind === "command" && target !== "isolated"
    ? "a command runs by itself; leave it out, or write isolated"
    : undefined;
}

/** A name for a job: the first words of its text. */
function nameOf(what: CronWish["payload"]): string {
  const text = whatOf(what).replace(/\s+/g, " ").trim();
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

/** A job with some of its fields changed; null removes one. */
export function patched(job: Fields, patch: Fields): unknown {
  const today = inWordsOfToday(withoutBlanks(patch, [""]));
  const merged = Object.entries(today).map(([key, value]) => [key, mergedField(key, job[key], value)]);
  return { ...job, ...Object.fromEntries(merged) };
}

/** The value of a changed field. A payload or schedule of another kind replaces the old one. */
function mergedField(key: string, old: unknown, value: unknown): unknown {
  if (!isFields(old) || !isFields(value)) return value;
  if ((key === "payload" || key === "schedule") && value["kind"] !== undefined && value["kind"] !== old["kind"])
    return value;
  return { ...old, ...value };
}

/** Fields without blank ones. Models that fill every field write blanks for values that they do not mean to set. */
function withoutBlanks(fields: Fields, blanks: readonly unknown[]): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => !blanks.includes(value))
      .map(([key, value]) => [key, isFields(value) ? withoutBlanks(value, blanks) : value]),
  );
}
