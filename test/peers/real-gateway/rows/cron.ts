import type { Row } from "../row.ts";

const JOB = "{cron.add:id}";

/** Scheduled jobs, as the pages and the command line ask for them. */
export const cronRows: readonly Row[] = [
  { method: "cron.status" },
  {
    method: "cron.list",
    about: "before the first job",
    params: { includeDisabled: true, limit: 200, offset: 0, sortBy: "name", sortDir: "asc", compact: true },
  },
  {
    method: "cron.add",
    params: {
      name: "tea",
      description: "a job",
      enabled: true,
      schedule: { kind: "cron", expr: "0 7 * * *", tz: "UTC" },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "hello" },
      delivery: { mode: "none" },
    },
  },
  {
    method: "cron.add",
    about: "of the main session",
    params: {
      name: "wake",
      schedule: { kind: "every", everyMs: 3_600_000 },
      sessionTarget: "main",
      wakeMode: "next-heartbeat",
      payload: { kind: "systemEvent", text: "an event" },
    },
  },
  {
    method: "cron.add",
    about: "once",
    params: {
      name: "once",
      schedule: { kind: "at", at: "2030-01-01T00:00:00Z" },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "hello" },
      deleteAfterRun: true,
    },
  },
  {
    method: "cron.add",
    about: "with a bad schedule",
    params: {
      name: "bad",
      schedule: { kind: "cron", expr: "nothing" },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "hello" },
    },
  },
  { method: "cron.get", params: { id: JOB } },
  { method: "cron.get", about: "unknown", params: { id: "00000000-0000-4000-8000-000000000000" } },
  { method: "cron.list", params: { includeDisabled: true, includeDeliveryPreviews: false, limit: 50, offset: 0 } },
  {
    method: "cron.list",
    about: "compact",
    params: { includeDisabled: true, limit: 200, offset: 0, sortBy: "name", sortDir: "asc", compact: true },
  },
  {
    method: "cron.list",
    about: "with previews",
    params: { enabled: "enabled", includeDeliveryPreviews: true, query: "tea", scheduleKind: "cron" },
  },
  { method: "cron.update", params: { id: JOB, patch: { name: "more tea", enabled: false } } },
  {
    method: "cron.update",
    about: "guarded",
    params: { id: JOB, patch: { enabled: true }, expectedConfigRevision: "{cron.update:configRevision}" },
  },
  {
    method: "cron.update",
    about: "guarded by another revision",
    params: { id: JOB, patch: { enabled: true }, expectedConfigRevision: "0000" },
  },
  { method: "cron.scratch.get", params: { id: JOB } },
  { method: "cron.scratch.set", params: { id: JOB, content: "a note" } },
  { method: "cron.run", params: { id: JOB, mode: "force" }, until: "run" },
  { method: "cron.run", about: "not due", params: { id: JOB, mode: "due" } },
  { method: "cron.runs", params: { scope: "all", limit: 50, offset: 0, sortDir: "desc" } },
  { method: "cron.runs", about: "of a job", params: { scope: "job", id: JOB, limit: 50 } },
  { method: "cron.status", about: "with jobs", params: {} },
  { method: "cron.remove", params: { id: JOB } },
  { method: "cron.remove", about: "unknown", params: { id: "00000000-0000-4000-8000-000000000000" } },
];
