import { z } from "zod";
import { about } from "../../utils/config.ts";
import { readSize } from "../../utils/text/size-text.ts";
import { readDuration } from "../../utils/time/duration.ts";

const DAY_MS = 86_400_000;

/** A time as people write it; a number without a unit counts days. */
const time = z.union([z.string(), z.number()]).transform((given, context) => {
  const text = String(given).trim();
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * DAY_MS : readDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  context.addIssue({ code: "custom", message: "write it as 12h or 30d", input: given });
  return z.NEVER;
});

const size = z.union([z.string(), z.number()]).transform((given, context) => {
  const bytes = readSize(String(given));
  if (bytes !== undefined) return bytes;
  context.addIssue({ code: "custom", message: "write it as 500mb or 10gb", input: given });
  return z.NEVER;
});

/** `session.maintenance` */
export const maintenanceConfig = z.strictObject({
  mode: z
    .enum(["warn", "enforce"])
    .default("warn")
    .meta(
      about(
        "Mode",
        "`warn`: the log, `openclaw status` and `openclaw doctor` say what would be put aside or removed. `enforce`: it is " +
          "done once a day. A session that is in use stays in either case.",
      ),
    ),
  pruneAfter: time
    .prefault("30d")
    .meta(
      about(
        "Age",
        "Time without a message after which a session is put into the archive, where it keeps its transcript. The session of " +
          "a job, webhook or subagent is deleted instead. A number counts days.",
      ),
    ),
  maxEntries: z
    .int()
    .min(1)
    .default(5000)
    .meta(
      about("Sessions", "Most sessions outside the archive. Of more, the oldest are treated as those of `pruneAfter`."),
    ),
  preserveRecent: z
    .union([z.literal(false), time])
    .default(false)
    .meta(
      about(
        "Recent sessions",
        "Time without a message within which `maxEntries` and `maxDiskBytes` leave people's sessions alone; `false`: none.",
      ),
    ),
  resetArchiveRetention: z
    .union([z.literal(false), time])
    .default(false)
    .meta(
      about(
        "Old transcripts",
        "How long the transcripts stay that `/new` and deleted sessions leave, `….jsonl.reset.<time>` and " +
          "`….jsonl.deleted.<time>`; `false`: until `maxDiskBytes` is exceeded.",
      ),
    ),
  maxDiskBytes: z
    .union([z.literal(false), size])
    .prefault("10gb")
    .meta(
      about(
        "Size",
        "Bytes of the folder of sessions, such as `500mb`, above which the oldest of these transcripts are removed, and " +
          "then the oldest sessions that `maxEntries` has put into the archive; `false` or 0: no limit.",
      ),
    ),
  highWaterBytes: size
    .optional()
    .meta(about("Size afterwards", "Bytes that are left when `maxDiskBytes` was exceeded; 80% of it when unset.")),
});

/** Times are milliseconds. */
export type MaintenanceConfig = z.output<typeof maintenanceConfig>;

/** Share of `maxDiskBytes` that is left after it was exceeded. */
const HIGH_WATER = 0.8;

/** The limit of the folder of sessions and the size to which it is brought back; undefined without a limit. */
export function diskLimitOf({
  maxDiskBytes,
  highWaterBytes = 0,
}: MaintenanceConfig): { readonly max: number; readonly target: number } | undefined {
  if (maxDiskBytes === false || maxDiskBytes === 0) return undefined;
  const target = highWaterBytes > 0 ? Math.min(highWaterBytes, maxDiskBytes) : Math.floor(maxDiskBytes * HIGH_WATER);
  return { max: maxDiskBytes, target };
}
