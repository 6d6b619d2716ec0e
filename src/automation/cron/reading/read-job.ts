import { z } from "zod";
import type { CronWish } from "../../types/cron/job.ts";
import { sessionKey } from "../../types/ids.ts";
import { THINK_LEVELS } from "../../types/run/model.ts";
import { readDuration } from "../../utils/duration.ts";
import { isFields } from "../../utils/fields.ts";
import { makes } from "../../utils/config.ts";
import { readTime } from "./local-time.ts";
import { inWordsOfToday } from "./old-words.ts";
import { slotTimes } from "./times.ts";

/** What a job is read with. */
export interface ReadingPorts {
  readonly now: number;
  /** IANA name; for times and expressions that name none. */
  readonly timezone: string;
  /** `cron.webhook`, for older jobs that only say `notify`. */
  readonly webhook?: string | undefined;
}

const MOST_TEXT_CHARS = 20_000;
const DAY_SECONDS = 86_400;
const isZone = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));
const zone = z.string().refine(isZone, "is no time zone; write it as Europe/Vienna");
const word = z.string().trim().min(1).max(500);
const threadId = z.union([z.string().min(1), z.number().int()]).transform(String);

const destination = z.strictObject({
  mode: z.enum(["announce", "webhook"]).optional(),
  channel: word.optional(),
  to: word.optional(),
  accountId: word.optional(),
});

const delivery = z
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
  });

const alert = destination.extend({
  after: z.int().min(1).max(100).optional(),
  cooldownMs: z.int().min(0).optional(),
  includeSkipped: z.boolean().optional(),
});

const payload = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("systemEvent"), text: z.string().trim().min(1).max(MOST_TEXT_CHARS) }),
  z.strictObject({
    kind: z.literal("agentTurn"),
    message: z.string().trim().min(1).max(MOST_TEXT_CHARS),
    model: word.optional(),
    fallbacks: z.array(word).max(20).optional(),
    thinking: z.enum(THINK_LEVELS).optional(),
    timeoutSeconds: z
      .number()
      .min(0)
      .max(7 * DAY_SECONDS)
      .optional(),
    lightContext: z.boolean().optional(),
    toolsAllow: z.array(word).max(200).optional(),
  }),
]);

const duration = z.union([
  z.int(),
  z.string().transform((text, context) => {
    const ms = readDuration(text);
    if (ms !== undefined) return ms;
    context.addIssue({ code: "custom", message: "write it as 30m or 2h", input: text });
    return z.NEVER;
  }),
]);

/** A shorter interval would begin before the run of the last one has answered. */
const LEAST_EVERY_MS = 1000;

function scheduleShape({ now, timezone }: ReadingPorts) {
  const at = z.string().transform((text, context) => {
    const ms = /^\d[\dhmsd.]*$/.test(text.trim()) ? readDuration(text) : undefined;
    try {
      return new Date(ms === undefined ? readTime(text, "UTC") : now + ms).toISOString();
    } catch (error) {
      context.addIssue({
        code: "custom",
        message: error instanceof Error ? error.message : String(error),
        input: text,
      });
      return z.NEVER;
    }
  });
  return z.discriminatedUnion("kind", [
    z
      .strictObject({ kind: z.literal("at"), at, tz: zone.optional() })
      .transform(({ kind, at: time }) => ({ kind, at: time })),
    z
      .strictObject({ kind: z.literal("every"), everyMs: duration, anchorMs: z.int().min(0).default(now) })
      .refine(({ everyMs }) => everyMs >= LEAST_EVERY_MS, {
        path: ["everyMs"],
        message: "the shortest interval is a second",
      }),
    z
      .strictObject({
        kind: z.literal("cron"),
        expr: word,
        tz: zone.default(timezone),
        staggerMs: z
          .int()
          .min(0)
          .max(DAY_SECONDS * 1000)
          .optional(),
      })
      .superRefine((schedule, context) => {
        try {
          slotTimes({ ...schedule, kind: "cron" } as const, "check");
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          context.addIssue({ code: "custom", message, path: ["expr"], input: schedule.expr });
        }
      }),
  ]);
}

const TARGET = /^(?:main|isolated|session:.{1,300})$/;

function wishShape(ports: ReadingPorts) {
  return z.object({
    name: z.string().trim().min(1).max(200).optional(),
    displayName: z.string().max(200).optional(),
    description: z.string().max(2000).optional(),
    enabled: z.boolean().default(true),
    deleteAfterRun: z.boolean().optional(),
    missed: z.enum(["skip", "once", "all"]).optional(),
    graceSeconds: z
      .int()
      .min(0)
      .max(7 * DAY_SECONDS)
      .optional(),
    agentId: word.optional(),
    sessionKey: word.transform(sessionKey).optional(),
    sessionTarget: z.string().optional(),
    wakeMode: z.enum(["now", "next-heartbeat"]).default("now"),
    schedule: scheduleShape(ports),
    payload,
    delivery: delivery.optional(),
    failureAlert: z.union([z.literal(false), alert]).optional(),
    declarationKey: word.max(200).optional(),
    owner: z
      .object({ agentId: z.string().optional(), sessionKey: z.string().optional(), accountId: z.string().optional() })
      .optional(),
  });
}

/** A job that cannot be: `path` names the field. */
export interface BadJob {
  readonly problem: string;
}

/** Fields that this gateway has no use for yet. A job with one would not do what its author wants. */
const NOT_BUILT = ["trigger", "pacing"];
const OTHER_KINDS = new Set(["on-exit", "stream", "command", "script", "heartbeat", "skillCollectionReview"]);

/** Reads a job in the words of any version. */
export function readJob(given: unknown, ports: ReadingPorts): CronWish | BadJob {
  if (!isFields(given)) return { problem: "a job is an object with a schedule and a payload" };
  const fields = inWordsOfToday(withoutNulls(given), ports.webhook);
  const unknown = notBuilt(fields);
  if (unknown !== undefined) return { problem: unknown };
  const read = wishShape(ports).safeParse(fields);
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

function complete(read: z.output<ReturnType<typeof wishShape>>): CronWish | BadJob {
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
  if (what.kind === "systemEvent" && target === "isolated")
    return {
      problem: "sessionTarget: a systemEvent is for a conversation; an isolated run needs an agentTurn with a message",
    };
  const announced =
    what.kind === "agentTurn" && target === "isolated" ? { delivery: { mode: "announce" as const } } : {};
  return { ...announced, ...read, sessionTarget: target, name: name ?? nameOf(what) };
}

/** The first words of what it does. */
function nameOf(what: CronWish["payload"]): string {
  const text = (what.kind === "systemEvent" ? what.text : what.message).replace(/\s+/g, " ").trim();
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

/** A job with some of its fields changed; null removes one. */
export function patched(job: Readonly<Record<string, unknown>>, patch: Readonly<Record<string, unknown>>): unknown {
  const today = inWordsOfToday(patch);
  const merged = Object.entries(today).map(([key, value]) => [key, mergedField(key, job[key], value)]);
  return { ...job, ...Object.fromEntries(merged) };
}

/** A payload or schedule of another kind replaces the old one. */
function mergedField(key: string, old: unknown, value: unknown): unknown {
  if (!isFields(old) || !isFields(value)) return value;
  if ((key === "payload" || key === "schedule") && value["kind"] !== undefined && value["kind"] !== old["kind"])
    return value;
  return { ...old, ...value };
}

function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, isFields(value) ? withoutNulls(value) : value]),
  );
}
