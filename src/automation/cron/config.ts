import { z } from "zod";
import { about, secretField } from "../../utils/config.ts";
import { readDuration } from "../../utils/time/duration.ts";

const duration = z.string().transform((text, context) => {
  const ms = readDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  context.addIssue({ code: "custom", message: "write it as 24h or 7d", input: text });
  return z.NEVER;
});

const retry = z.strictObject({
  maxAttempts: z
    .int()
    .min(0)
    .max(20)
    .default(3)
    .meta(about("Attempts", "How often a job that is due once is tried again after a failure that may be over soon.")),
  backoffMs: z
    .array(z.int().min(0))
    .min(1)
    .default([60_000, 120_000, 300_000])
    .meta(about("Pauses", "Milliseconds before each of these tries; the last one counts for all further ones.")),
  retryOn: z
    .array(z.string().min(1))
    .optional()
    .meta(
      about(
        "Failures",
        "Kinds of failures after which it is tried again; `rate_limit`, `overloaded`, `network`, `timeout` and `server_error` when unset.",
      ),
    ),
});

const destination = {
  mode: z
    .enum(["announce", "webhook"])
    .optional()
    .meta(about("Way", "`announce`: a message in a chat. `webhook`: a call of the address in `to`.")),
  channel: z.string().min(1).optional().meta(about("Channel", "Channel of the chat; an owner's last chat when unset.")),
  to: z.string().min(1).optional().meta(about("Chat", "The chat, or the address of the webhook.")),
  accountId: z.string().min(1).optional().meta(about("Account", "The account of the channel that sends it.")),
};

const failureAlert = z.strictObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Tells about jobs that fail again and again.")),
  after: z.int().min(1).default(2).meta(about("After", "Failures in a row before the first alert.")),
  cooldownMs: z.int().min(0).default(3_600_000).meta(about("Pause", "Milliseconds between two alerts about a job.")),
  includeSkipped: z.boolean().default(false).meta(about("Skipped runs", "Skipped runs count as failures.")),
  mode: destination.mode,
  accountId: destination.accountId,
});

const runLog = z.strictObject({
  keepLines: z.int().min(1).default(2000).meta(about("Records", "Records of runs that are kept of each job.")),
});

const ssrfPolicy = z.strictObject({
  allowedHostnames: z
    .array(z.string().min(1))
    .prefault([])
    .meta(about("Allowed hosts", "Hosts of webhooks that may have private addresses, such as `localhost`.")),
  blockedHostnames: z
    .array(z.string().min(1))
    .prefault([])
    .meta(about("Blocked hosts", "Hosts that are never called; `*.example.com` names all below `example.com`.")),
  dangerouslyAllowPrivateNetwork: z
    .boolean()
    .default(false)
    .meta(about("Private network", "Webhooks may have any private address, also those of this machine.")),
});

/** `cron.*` */
export const cronConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(about("Enabled", "Runs scheduled jobs. The variable `OPENCLAW_SKIP_CRON=1` switches them off, too.")),
  store: z
    .string()
    .optional()
    .meta(about("Old file", "The `jobs.json` that `openclaw cron import` reads; jobs are kept in the journal.")),
  maxConcurrentRuns: z
    .int()
    .min(1)
    .max(100)
    .default(8)
    .meta(about("Concurrency", "Most jobs that run at once; further ones begin when one of these has ended.")),
  skipMissedJobs: z
    .boolean()
    .default(false)
    .meta(about("Skip missed ones", "Repeated jobs that say nothing of missed slots skip them all.")),
  retry: retry.prefault({}).meta(about("Further tries", "Tries of jobs that are due once.")),
  webhook: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(about("Webhook", "Address that older jobs with `notify: true` call.")),
  webhookToken: secretField
    .optional()
    .meta(about("Webhook token", "Sent as `Authorization: Bearer` with each call of a webhook.")),
  webhookSsrfPolicy: ssrfPolicy
    .prefault({})
    .meta(about("Addresses of webhooks", "Which hosts webhooks may have. Only public ones by default.")),
  sessionRetention: z
    .union([z.literal(false), duration])
    .prefault("24h")
    .meta(about("Conversations", "How long the conversation of a run is kept; `false` for ever.")),
  runLog: runLog.prefault({}).meta(about("Records", "Which records of runs are kept.")),
  failureAlert: failureAlert.prefault({}).meta(about("Alerts", "When people are told about failures.")),
  failureDestination: z
    .strictObject(destination)
    .optional()
    .meta(about("Where alerts go", "For jobs that say nothing of it; where the job reports when unset.")),
});

export type CronConfig = z.output<typeof cronConfig>;
