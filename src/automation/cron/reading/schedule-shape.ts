import { z } from "zod";
import { makes } from "../../../utils/config.ts";
import { readDuration } from "../../../utils/time/duration.ts";
import { isFields } from "../../../utils/fields.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { readTime } from "./local-time.ts";
import { slotTimes } from "./times.ts";
import { argument, word } from "./payload-shape.ts";

/** Values that a schedule is read with. */
export interface ReadingTimes {
  readonly now: number;
  /** IANA name of the zone for times and expressions that name none. */
  readonly timezone: string;
}

const DAY_SECONDS = 86_400;
const isZone = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));
const zone = z.string().refine(isZone, "is no time zone; write it as Europe/Vienna");
const isExpression = makes((text) => new RegExp(text, "u"));
const cwd = z.string().trim().min(1).max(4096).optional();

const onExit = z.lazy(() => z.strictObject({ kind: z.literal("on-exit"), command: argument.trim().min(1), cwd }));

const stream = z.lazy(() =>
  z
    .strictObject({
      kind: z.literal("stream"),
      command: z.array(argument).min(1).max(200),
      cwd,
      mode: z.enum(["line", "match"]).default("line"),
      match: z.string().min(1).max(500).refine(isExpression, "is no regular expression").optional(),
      batchMs: z
        .int()
        .default(250)
        .transform((ms) => Math.min(Math.max(ms, 50), 5000)),
      maxBatchBytes: z
        .int()
        .default(16_384)
        .transform((bytes) => Math.min(Math.max(bytes, 1024), 65_536)),
    })
    .refine(({ mode, match }) => mode !== "match" || match !== undefined, {
      path: ["match"],
      message: "the mode match needs a regular expression",
    }),
);

const duration = z.union([
  z.int(),
  z.string().transform((text, context) => {
    const ms = readDuration(text);
    if (ms !== undefined) return ms;
    context.addIssue({ code: "custom", message: "write it as 30m or 2h", input: text });
    return z.NEVER;
  }),
]);

/** A run of a shorter interval would begin before the run of the last one has answered. */
const LEAST_EVERY_MS = 1000;

const at = z.lazy(() =>
  z
    .strictObject({ kind: z.literal("at"), at: z.string(), tz: zone.optional() })
    .transform(({ kind, at: text, tz = "UTC" }, context) => {
      try {
        return { kind, at: new Date(readTime(text, tz)).toISOString() };
      } catch (error) {
        context.addIssue({ code: "custom", message: errorText(error), path: ["at"], input: text });
        return z.NEVER;
      }
    }),
);

const every = z.lazy(() =>
  z
    .strictObject({ kind: z.literal("every"), everyMs: duration, anchorMs: z.int().min(0) })
    .refine(({ everyMs }) => everyMs >= LEAST_EVERY_MS, {
      path: ["everyMs"],
      message: "the shortest interval is a second",
    }),
);

const cron = z.lazy(() =>
  z
    .strictObject({
      kind: z.literal("cron"),
      expr: word,
      tz: zone,
      staggerMs: z
        .int()
        .min(0)
        .max(DAY_SECONDS * 1000)
        .optional(),
    })
    .superRefine((schedule, context) => {
      try {
        const times = slotTimes({ ...schedule, kind: "cron" } as const, "check");
        if (times.next(0) === undefined) throw new Error(`"${schedule.expr}" never occurs`);
      } catch (error) {
        context.addIssue({ code: "custom", message: errorText(error), path: ["expr"], input: schedule.expr });
      }
    }),
);

/** A schedule after `withTimes`. The schema is made once: making it takes longer than reading thousands of jobs. */
export const scheduleShape = z.lazy(() => z.discriminatedUnion("kind", [at, every, cron, onExit, stream]));

/**
 * A schedule with the present values of its open fields: a time from now on, the beginning of an interval, the zone.
 */
export function withTimes(given: unknown, { now, timezone }: ReadingTimes): unknown {
  if (!isFields(given)) return given;
  if (given["kind"] === "every") return { ...given, anchorMs: given["anchorMs"] ?? now };
  if (given["kind"] === "cron") return { ...given, tz: given["tz"] ?? timezone };
  const { at: time } = given;
  const isSpan = given["kind"] === "at" && typeof time === "string" && /^\d[\dhmsd.]*$/.test(time.trim());
  const ms = isSpan ? readDuration(time) : undefined;
  return ms === undefined ? given : { ...given, at: new Date(now + ms).toISOString() };
}
