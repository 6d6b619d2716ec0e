import { z } from "zod";
import { about, atStart } from "../utils/config.ts";
import { readDuration } from "../utils/time/duration.ts";
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
  trashDays: days
    .default(90)
    .meta(about("Trash", "Days that the workspaces and keys of deleted agents stay in `trash/`.")),
  logsDays: days.default(30).meta(about("Logs", "Days that daily log files stay in `logs/`.")),
  logsMaxMb: mebibytes
    .default(1024)
    .meta(
      about("Logs' size", "MiB of daily log files above which the oldest are removed, except those of the last day."),
    ),
});

export type RetentionConfig = z.output<typeof retentionConfig>;

const LEAST_MS = 60 * 60_000;
const MOST_MS = 30 * 24 * 60 * 60_000;

/** `backup.*` */
export const backupConfig = z.strictObject({
  every: z
    .string()
    .default("0")
    .transform((text, context) => {
      const ms = text === "0" ? 0 : readDuration(text);
      if (ms === 0 || (ms !== undefined && ms >= LEAST_MS && ms <= MOST_MS)) return ms;
      context.addIssue({
        code: "custom",
        message: "write it as 24h or 7d: from 1h to 30d, or 0 for never",
        input: text,
      });
      return z.NEVER;
    })
    .meta(about("Every", "Time between two backups, such as `24h`; `0` for none.")),
  output: z
    .string()
    .min(1)
    .default("~/openclaw-backups")
    .meta(about("Folder", "The folder for scheduled backups, outside of the state directory.")),
  keep: z
    .int()
    .min(1)
    .max(1000)
    .default(7)
    .meta(
      about("Keep", "Scheduled backups that stay; the oldest ones are removed. Files with other names are left alone."),
    ),
  recipients: z
    .array(z.string().regex(/^age1[0-9a-z]+$/, "is no public key of age (age1…)"))
    .default([])
    .meta(
      about(
        "Recipients",
        "Public keys of age for which scheduled backups are encrypted; none: they are not encrypted. The secret key is " +
          "not needed here, and should be elsewhere.",
      ),
    ),
  includeWorkspace: z
    .boolean()
    .default(true)
    .meta(about("Workspaces", "Whether the workspaces of agents are in the backups.")),
});

export type BackupConfig = z.output<typeof backupConfig>;
