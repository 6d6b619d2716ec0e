import { z } from "zod";
import type { CronWish } from "../../types/cron/job.ts";
import { sessionKey } from "../../types/ids.ts";
import { readDuration } from "../../utils/time/duration.ts";
import { isFields } from "../../utils/fields.ts";
import { whatOf } from "./list.ts";
import { inWordsOfToday } from "./reading/old-words.ts";
import { payloadShape, word } from "./reading/payload-shape.ts";
import { scheduleShape, withTimes } from "./reading/schedule-shape.ts";

/** Values that a job is read with. */
export interface ReadingPorts {
  readonly now: number;
  /** IANA name of the zone for times and expressions that name none. */
  readonly timezone: string;
  /** `cron.webhook`, for older jobs that have only `notify`. */
  readonly webhook?: string | undefined;
}

const DAY_SECONDS = 86_400;
const threadId = z.union([z.string().min(1), z.number().int()]).transform(String);

const destination = z.strictObject({
  mode: z.enum(["announce", "webhook"]).optional(),
  channel: word.optional(),
  to: word.optional(),
  accountId: word.optional(),
});

const delivery = z.lazy(() =>
  z
    .strictObject({
      mode: z.enum(["none", "announce", "webhook"]).default("announce"),
      channel: word.optional(),
      to: word.optional(),
      accountId: word.optional(),
      threadId: threadId.optional(),
      bestEffort: z.boolean().optional(),
      failureDestination: destination.optional(),
      completionDestination: z
        .strictObject({ mode: z.literal("webhook"), to: z.url({ protocol: /^https?$/ }) })
        .optional(),
    })
    .refine(({ mode, to }) => mode !== "webhook" || (to !== undefined && /^https?:\/\//.test(to)), {
      path: ["to"],
      message: "a webhook needs the address to call, as https://…",
    }),
);

const alert = destination.extend({
  after: z.int().min(1).max(100).optional(),
  cooldownMs: z.int().min(0).optional(),
  includeSkipped: z.boolean().optional(),
});

const span = z.string().refine((text) => (readDuration(text) ?? 0) > 0, "write it as 15m or 4h");

const pacing = z.lazy(() =>
  z
    .strictObject({ min: span.optional(), max: span.optional() })
    .refine(({ min, max }) => min !== undefined || max !== undefined, "give min, max or both")
    .refine(
      ({ min, max }) => min === undefined || max === undefined || (readDuration(min) ?? 0) <= (readDuration(max) ?? 0),
      "min is longer than max",
    ),
);

const TARGET = /^(?:main|isolated|session:\P{Cc}{1,300})$/u;

const wishShape = z.lazy(() =>
  z.object({
    name: z.string().trim().min(1).max(200).optional(),
    displayName: z.string().max(200).optional(),
    description: z.string().max(2000).optional(),
    enabled: z.boolean().default(true),
    pacing: pacing.optional(),
    deleteAfterRun: z.boolean().optional(),
    missed: z.enum(["skip", "once", "all"]).optional(),
    graceSeconds: z
      .int()
      .min(0)
      .max(7 * DAY_SECONDS)
      .optional(),
    agentId: word.optional(),
    sessionKey: word
      .regex(/^\P{Cc}+$/u, "has control characters")
      .transform(sessionKey)
      .optional(),
    sessionTarget: z.string().optional(),
    wakeMode: z.enum(["now", "next-heartbeat"]).default("now"),
    schedule: scheduleShape,
    payload: payloadShape,
    delivery: delivery.optional(),
    failureAlert: z.union([z.literal(false), alert]).optional(),
    declarationKey: word.max(200).optional(),
    owner: z
      .object({ agentId: z.string().optional(), sessionKey: z.string().optional(), accountId: z.string().optional() })
      .optional(),
  }),
);

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
  const read = wishShape.safeParse({ ...fields, schedule: withTimes(fields["schedule"], ports) });
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue?.path.join(".") ?? "";
    return { problem: place === "" ? (issue?.message ?? "it cannot be read") : `${place}: ${issue?.message}` };
  }
  return complete(read.data);
}

function notBuilt(fields: Readonly<Record<string, unknown>>): string | undefined {
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

function complete(read: z.output<typeof wishShape>): CronWish | BadJob {
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

function unfitIn({ schedule, pacing: pace, payload }: z.output<typeof wishShape>): string | undefined {
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
export function patched(job: Readonly<Record<string, unknown>>, patch: Readonly<Record<string, unknown>>): unknown {
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
function withoutBlanks(
  fields: Readonly<Record<string, unknown>>,
  blanks: readonly unknown[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => !blanks.includes(value))
      .map(([key, value]) => [key, isFields(value) ? withoutBlanks(value, blanks) : value]),
  );
}
