import { createHash } from "node:crypto";
import { join } from "node:path";
import { readJob } from "../../../automation/cron/read-job.ts";
import { readJobsFile } from "../../../automation/cron/reading/jobs-file.ts";
import { cronJob, type CronJob, type CronWish } from "../../../types/cron/job.ts";
import { expandHome } from "../../../utils/env.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { localZone } from "../../../utils/time/local-time.ts";
import { valueAt } from "../../config/schema/problem.ts";
import type { ImportKind, Item, KindPlan, Left, OpenTarget, Target } from "../frame/kind.ts";
import type { ItemOutcome, ItemReceipt } from "../frame/receipts.ts";
import { sectionOf, type ImportSource } from "../frame/source.ts";
import { givenJson } from "../frame/source-file.ts";
import { keyHere } from "./session-rows.ts";

/** Most bytes of a job's id. */
const ID = /^[\w.-]{1,200}$/;

/**
 * Scheduled jobs. Each comes switched off: two gateways that run one job do its work twice, and a person knows when the other one is gone.
 * No slot of the past is run.
 */
export const jobsKind: ImportKind = {
  id: "cron",
  title: "Scheduled jobs",
  async plan(from, to): Promise<KindPlan> {
    const items: Item[] = [];
    const left: Left[] = [];
    const given = new Map((await jobsOf(from)).map((job) => [idOf(job), job]));
    for (const [id, job] of given) {
      const wish = readGiven(id, job, from);
      const name = typeof job["name"] === "string" ? job["name"] : (id ?? "a job");
      if ("problem" in wish || id === undefined)
        left.push({ name, why: "problem" in wish ? wish.problem : "it has no id" });
      else items.push(itemFor(id, inKeysHere(wish, from, to)));
    }
    return { items, left };
  },
};

function readGiven(id: string | undefined, job: Fields, from: ImportSource): CronWish | { readonly problem: string } {
  if (id === undefined || !ID.test(id)) return { problem: "it has no usable id" };
  const { description } = job;
  if (typeof description === "string" && description.startsWith(MANAGED))
    return { problem: "a part of OpenClaw made it for itself, and would make it again" };
  return readJob(job, portsFor(from));
}

/** The beginning of the description of a job that no person made. */
const MANAGED = "[managed-by=";

const portsFor = ({ value }: ImportSource) => {
  const zone: unknown = valueAt(value, ["agents", "defaults", "userTimezone"]);
  const webhook = sectionOf(value, "cron")["webhook"];
  return {
    now: Date.now(),
    timezone: typeof zone === "string" ? zone : localZone(),
    webhook: typeof webhook === "string" ? webhook : undefined,
  };
};

const SESSION = "session:";

/** The job with the keys that its conversations have here. */
function inKeysHere(wish: CronWish, from: ImportSource, { defaultAgent }: Target): CronWish {
  const { sessionTarget, sessionKey, agentId = defaultAgent } = wish;
  const mainKey = sectionOf(from.value, "session")["mainKey"];
  const rules = {
    agent: agentId,
    defaultAgent,
    isShared: false,
    mainKey: typeof mainKey === "string" ? mainKey : "main",
  };
  const key = (text: string) => keyHere(text, {}, rules);
  return {
    ...wish,
    ...(sessionKey !== undefined && { sessionKey: key(sessionKey) }),
    ...(sessionTarget.startsWith(SESSION) && { sessionTarget: SESSION + key(sessionTarget.slice(SESSION.length)) }),
  };
}

function itemFor(id: string, given: CronWish): Item {
  const wish = { ...given, enabled: false };
  const notes = [
    ...(given.enabled ? [`switched off; switch it on with: openclaw cron enable ${id}`] : []),
    ...(given.sessionTarget.startsWith("session:")
      ? [`writes into ${given.sessionTarget.slice("session:".length)}`]
      : []),
  ];
  return {
    id,
    name: given.name,
    version: hashOf(given),
    notes,
    take: (to, before) => put(id, wish, to, before),
  };
}

/** A mark of the settings. The start of an interval is none of them: where a job names none, it is the time at which it is read. */
function hashOf({ schedule, ...others }: CronWish): string {
  const named = schedule.kind === "every" ? { everyMs: schedule.everyMs } : schedule;
  return createHash("sha256")
    .update(JSON.stringify(sorted({ ...others, schedule: named })))
    .digest("hex")
    .slice(0, 16);
}

/** The same value with its fields in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  const fields = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    fields.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, one]) => [name, sorted(one)]),
  );
}

/** A job that is here with this id stays, unless an import made it and nobody has changed it. */
async function put(
  id: string,
  wish: CronWish,
  { journal }: OpenTarget,
  before: ItemReceipt | undefined,
): Promise<ItemOutcome> {
  const found = (await journal.cron.all()).find((row) => row.id === id);
  const there = found && cronJob.safeParse(found.job).data;
  if (found && (!there || !isOurs(there, wish, before))) return { left: `there is a job with the id ${id} already` };
  const now = Date.now();
  const { createdAtMs = now, scheduleRevision = 0 } = there ?? {};
  const job: CronJob = {
    ...wish,
    id,
    createdAtMs,
    updatedAtMs: now,
    scheduleRevision: scheduleRevision + 1,
    setUpBy: "owner",
  };
  await journal.cron.put(job, { cursorMs: now });
  return { made: id, mark: hashOf(wish) };
}

/** Without a receipt, a process that ended before it could write one has made the job already. */
const isOurs = (there: CronJob, wish: CronWish, before: ItemReceipt | undefined): boolean =>
  hashOf(settingsOf(there)) === (before?.mark ?? hashOf(wish));

function settingsOf(job: CronJob): CronWish {
  const {
    id: _id,
    createdAtMs: _at,
    updatedAtMs: _changed,
    scheduleRevision: _revision,
    setUpBy: _by,
    ...settings
  } = job;
  return settings;
}

const idOf = (job: Fields): string | undefined => {
  const id = job["id"] ?? job["jobId"];
  return typeof id === "string" ? id : undefined;
};

async function jobsOf(from: ImportSource): Promise<readonly Fields[]> {
  const named = sectionOf(from.value, "cron")["store"];
  const path = typeof named === "string" ? expandHome(named, process.env) : join(from.dir, "cron", "jobs.json");
  const inFile = ((await readJobsFile(path)) ?? []).filter(isFields);
  return [...inFile, ...(await jobsInDatabase(from))];
}

async function jobsInDatabase({ database, databases }: ImportSource): Promise<readonly Fields[]> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (db?.has("cron_jobs", "job_id", "job_json") !== true) return [];
  return [...db.rows("SELECT job_id, job_json FROM cron_jobs ORDER BY rowid")].flatMap((row) => {
    const job = givenJson(row["job_json"]);
    return isFields(job) ? [{ id: String(row["job_id"]), ...job }] : [];
  });
}
