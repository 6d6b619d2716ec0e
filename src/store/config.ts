import { z } from "zod";
import { about } from "../utils/config.ts";
import { LEAST_KEYS_DAYS } from "./journal/prune.ts";

const days = z.int().min(1).max(36_500);
const mebibytes = z.int().min(1).max(1_000_000);

/** `journal.*` */
export const journalConfig = z.strictObject({
  fsync: z
    .enum(["full", "normal"])
    .default("full")
    .meta(
      about(
        "Fsync",
        "`full`: a message is on the disk before its platform is told so. `normal`: faster; a power cut, not a crash of the " +
          "gateway, may take the last moments.",
      ),
    ),
});

/** `retention.*` */
export const retentionConfig = z.strictObject({
  rowsDays: days.default(30).meta(about("Rows", "Days that finished messages, replies and runs stay in the journal.")),
  strangersDays: days
    .default(7)
    .meta(about("Strangers", "Days that messages stay which were not let in, or only heard in a group.")),
  dedupeDays: days
    .min(LEAST_KEYS_DAYS)
    .default(400)
    .meta(
      about(
        "Dedupe keys",
        `Days that an event is known again when its platform offers it once more; at least ${LEAST_KEYS_DAYS}, which is longer ` +
          "than any platform keeps one.",
      ),
    ),
  journalMaxMb: mebibytes
    .default(2048)
    .meta(about("Journal size", "MiB of rows above which the oldest finished ones go early, down to one day.")),
  mediaDays: days.default(90).meta(about("Files", "Days that received and sent files stay in `media/`.")),
  mediaMaxMb: mebibytes
    .default(10_240)
    .meta(about("Files' size", "MiB in `media/` above which the oldest files go, those of the last day excepted.")),
  logsDays: days.default(30).meta(about("Logs", "Days that daily log files stay in `logs/`.")),
  logsMaxMb: mebibytes
    .default(1024)
    .meta(about("Logs' size", "MiB of daily log files above which the oldest go, those of the last day excepted.")),
});

export type RetentionConfig = z.output<typeof retentionConfig>;
