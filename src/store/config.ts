import { z } from "zod";
import { about, atStart } from "../utils/config.ts";
import { LEAST_KEYS_DAYS } from "./journal/prune.ts";

const days = z.int().min(1).max(36_500);
const mebibytes = z.int().min(1).max(1_000_000);

/** `journal.*` */
export const journalConfig = z.strictObject({
  fsync: z
    .enum(["full", "normal"])
    .default("full")
    .meta(
      atStart(
        about(
          "Fsync",
          "`full`: a message is on disk before the gateway acknowledges it. `normal`: faster; a power cut may lose the " +
            "last moments, a crash of the gateway loses nothing.",
        ),
      ),
    ),
});

/** `retention.*` */
export const retentionConfig = z.strictObject({
  rowsDays: days.default(30).meta(about("Rows", "Days that finished messages, replies and runs stay in the journal.")),
  strangersDays: days
    .default(7)
    .meta(
      about(
        "Strangers",
        "Days that messages stay whose senders were not allowed, or that were only kept as group history.",
      ),
    ),
  dedupeDays: days
    .min(LEAST_KEYS_DAYS)
    .default(400)
    .meta(
      about(
        "Dedupe keys",
        `Days for which the gateway recognises an event that its platform offers again; at least ${LEAST_KEYS_DAYS}, ` +
          "which is longer than any platform keeps one.",
      ),
    ),
  journalMaxMb: mebibytes
    .default(2048)
    .meta(
      about("Journal size", "MiB of rows above which the oldest finished rows are removed early, down to one day."),
    ),
  mediaDays: days.default(90).meta(about("Files", "Days that received and sent files stay in `media/`.")),
  mediaMaxMb: mebibytes
    .default(10_240)
    .meta(
      about("Files' size", "MiB in `media/` above which the oldest files are removed, except those of the last day."),
    ),
  logsDays: days.default(30).meta(about("Logs", "Days that daily log files stay in `logs/`.")),
  logsMaxMb: mebibytes
    .default(1024)
    .meta(
      about("Logs' size", "MiB of daily log files above which the oldest are removed, except those of the last day."),
    ),
});

export type RetentionConfig = z.output<typeof retentionConfig>;
