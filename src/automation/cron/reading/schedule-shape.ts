import { z } from "zod";
import { cronAt, cronKinds, cronZone, type CronSchedule } from "../../../types/cron/job.ts";
import { readDuration } from "../../../utils/time/duration.ts";
import { isFields } from "../../../utils/fields.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { readTime } from "./local-time.ts";
import { slotTimes } from "./times.ts";

/** Values that a schedule is read with. */
export interface ReadingTimes {
  readonly now: number;
  /** IANA name of the zone for times and expressions that name none. */
  readonly timezone: string;
}

/** A schedule after `withTimes`: a time may name its zone, and an expression must have a slot. */
export const scheduleShape = z
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
export function withTimes(given: unknown, { now, timezone }: ReadingTimes): unknown {
  if (!isFields(given)) return given;
  if (given["kind"] === "every") return { ...given, anchorMs: given["anchorMs"] ?? now };
  if (given["kind"] === "cron") return { ...given, tz: given["tz"] ?? timezone };
  const { at: time } = given;
  const isSpan = given["kind"] === "at" && typeof time === "string" && /^\d[\dhmsd.]*$/.test(time.trim());
  const ms = isSpan ? readDuration(time) : undefined;
  return ms === undefined ? given : { ...given, at: new Date(now + ms).toISOString() };
}
