import { z } from "zod";
import type { CronDesk, CronRefusal } from "../../../automation/cron/desk.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { isFields } from "../../../utils/fields.ts";
import type { Parts } from "../parts/parts.ts";

const id = z.string().min(1).max(200);
const named = { id: id.optional(), jobId: id.optional() };
const fields = z.record(z.string(), z.unknown());
const page = { limit: z.int().min(1).max(200).default(50), offset: z.int().min(0).default(0) };
const some = (words: readonly [string, ...string[]]) => z.union([z.enum(words), z.array(z.enum(words))]).optional();
const sortDir = z.enum(["asc", "desc"]).optional();

/** The protocol's methods for scheduled jobs. */
export const cronMethods = ({ cron: { desk }, live }: Pick<Parts, "cron" | "live">): readonly Method[] => [
  ...readMethods(desk, live),
  importMethod(desk),
  defineMethod({
    name: "cron.add",
    scope: "operator.admin",
    params: fields,
    run: async (job) => {
      const added = done(await desk.add(job, { setUpBy: "owner" }));
      const { view, created, updated } = added;
      return view.declarationKey === undefined
        ? view
        : { created, ...(updated !== undefined && { updated }), job: view };
    },
  }),
  defineMethod({
    name: "cron.update",
    scope: "operator.admin",
    params: z.looseObject({ ...named, patch: fields, expectedConfigRevision: z.string().optional() }),
    run: async ({ patch, expectedConfigRevision, ...which }) =>
      done(await desk.update(idOf(which), patch, { expected: expectedConfigRevision })),
  }),
  defineMethod({
    name: "cron.remove",
    scope: "operator.admin",
    params: z.looseObject(named),
    run: async (which) => {
      const removed = await desk.remove(idOf(which));
      if (!removed) throw notFound(idOf(which));
      return { ok: true, removed };
    },
  }),
  defineMethod({
    name: "cron.run",
    scope: "operator.admin",
    params: z.looseObject({ ...named, mode: z.enum(["due", "force", "if-enabled"]).default("force") }),
    run: async ({ mode, ...which }) => {
      const begun = await desk.run(idOf(which), mode);
      if ("missing" in begun) throw notFound(begun.missing);
      return "runId" in begun ? { ok: true, enqueued: true, runId: begun.runId } : { ok: true, ran: false, ...begun };
    },
  }),
];

/** Takes over jobs and records of another gateway. What is here already stays as it is. */
const importMethod = (desk: CronDesk): Method =>
  defineMethod({
    name: "cron.import",
    scope: "operator.admin",
    params: z.looseObject({ jobs: z.array(z.unknown()).max(5000), runs: z.array(z.unknown()).max(1000) }),
    run: async ({ jobs, runs }) => {
      const answer = { added: 0, known: 0, runs: 0, refused: [] as { name: string; problem: string }[] };
      // Side by side, so that they share the syncs of the journal.
      await Promise.all(
        jobs.map(async (job) => {
          const added = isFields(job) ? await desk.adopt(job) : { problem: "it is no object" };
          if (added === true) answer.added += 1;
          else if (added === false) answer.known += 1;
          else answer.refused.push({ name: nameOf(job), problem: added.problem });
        }),
      );
      for (const run of runs) answer.runs += Number(isFields(run) && (await desk.adoptRun(run)));
      return answer;
    },
  });

function nameOf(job: unknown): string {
  const { name, id, jobId } = isFields(job) ? job : {};
  const [first] = [name, id, jobId].filter((one) => typeof one === "string");
  return first ?? "a job without a name";
}

const readMethods = (desk: CronDesk, live: Parts["live"]): readonly Method[] => [
  defineMethod({
    name: "cron.status",
    scope: "operator.read",
    params: z.looseObject({}),
    run: async () => desk.status(),
  }),
  listMethod(desk, live),
  defineMethod({
    name: "cron.get",
    scope: "operator.read",
    params: z.looseObject(named),
    run: async (which) => {
      const view = desk.get(idOf(which));
      if (!view) throw notFound(idOf(which));
      return view;
    },
  }),
  defineMethod({
    name: "cron.preview",
    scope: "operator.read",
    params: z.looseObject(named),
    run: async (which) => {
      const preview = await desk.preview(idOf(which));
      if (!preview) throw notFound(idOf(which));
      return preview;
    },
  }),
  runsMethod(desk, live),
];

const listMethod = (desk: CronDesk, live: Parts["live"]): Method =>
  defineMethod({
    name: "cron.list",
    scope: "operator.read",
    params: z.looseObject({
      ...page,
      includeDisabled: z.boolean().optional(),
      enabled: z.enum(["all", "enabled", "disabled"]).optional(),
      query: z.string().max(500).optional(),
      scheduleKind: z.string().optional(),
      lastRunStatus: z.string().optional(),
      trigger: z.enum(["all", "conditional", "unconditional"]).optional(),
      agentId: id.optional(),
      sortBy: z.enum(["nextRunAtMs", "updatedAtMs", "name"]).optional(),
      sortDir,
    }),
    run: async ({ agentId, ...query }) => {
      const { jobs, total } = desk.list({ ...query, ...ofAgent(agentId, live.defaultAgent.id) });
      const { offset, limit } = query;
      const next = offset + jobs.length;
      return { jobs, total, offset, limit, hasMore: next < total, nextOffset: next < total ? next : null };
    },
  });

const STATUSES = ["ok", "error", "skipped"] as const;
const DELIVERIES = ["delivered", "not-delivered", "unknown", "not-requested"] as const;

const runsMethod = (desk: CronDesk, live: Parts["live"]): Method =>
  defineMethod({
    name: "cron.runs",
    scope: "operator.read",
    params: z.looseObject({
      ...named,
      ...page,
      scope: z.enum(["job", "all"]).optional(),
      runId: id.optional(),
      agentId: id.optional(),
      status: z.enum(["all", ...STATUSES]).optional(),
      statuses: some(STATUSES),
      deliveryStatus: z.enum(DELIVERIES).optional(),
      deliveryStatuses: some(DELIVERIES),
      query: z.string().max(500).optional(),
      sortDir,
    }),
    run: async ({ limit, offset, scope, runId, agentId, query, ...rest }) => {
      const jobId = rest.id ?? rest.jobId;
      if (scope === "job" && jobId === undefined) throw new MethodError("INVALID_REQUEST", "name the job: id");
      const status = rest.status === "all" ? undefined : rest.status;
      const { entries, total } = await desk.runs({
        limit,
        offset,
        jobId: scope === "all" ? undefined : jobId,
        runId,
        ...ofAgent(agentId, live.defaultAgent.id),
        query,
        statuses: listOf(rest.statuses ?? status),
        deliveryStatuses: listOf(rest.deliveryStatuses ?? rest.deliveryStatus),
        isOldestFirst: rest.sortDir === "asc",
      });
      const next = offset + entries.length;
      return { entries, total, offset, limit, hasMore: next < total, nextOffset: next < total ? next : null };
    },
  });

const listOf = (one: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof one === "string" ? [one] : one;

function idOf(which: { readonly id?: string | undefined; readonly jobId?: string | undefined }): string {
  const found = which.id ?? which.jobId;
  if (found === undefined) throw new MethodError("INVALID_REQUEST", "name the job: id");
  return found;
}

const notFound = (jobId: string): MethodError =>
  new MethodError("NOT_FOUND", `there is no scheduled job ${jobId}`, {
    details: { code: "CRON_JOB_NOT_FOUND", jobId },
  });

function done<T extends object>(answer: T | CronRefusal): T {
  if ("problem" in answer) throw new MethodError("INVALID_REQUEST", answer.problem);
  if ("missing" in answer) throw notFound(answer.missing);
  if ("conflict" in answer)
    throw new MethodError("CONFLICT", "somebody else has changed the job; read it again", {
      details: { configRevision: answer.conflict },
    });
  return answer;
}
