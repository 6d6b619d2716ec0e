import { z } from "zod";
import type { CronDesk, CronRefusal } from "../../../automation/cron/desk.ts";
import { listParams } from "../../../automation/cron/list.ts";
import { compactView } from "../../../automation/cron/views.ts";
import { cronAnswers, cronDeclared, cronRows } from "../../../types/cron/answers.ts";
import { CRON_DELIVERIES, CRON_STATUSES } from "../../../types/cron/run.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { isFields } from "../../../utils/fields.ts";
import type { Parts } from "../parts/parts.ts";

const id = z.string().min(1).max(200);
const named = { id: id.optional(), jobId: id.optional() };
const fields = z.record(z.string(), z.unknown());
const some = (words: readonly [string, ...string[]]) => z.union([z.enum(words), z.array(z.enum(words))]).optional();

/** The protocol's methods for scheduled jobs. */
export const cronMethods = ({ cron: { desk }, live }: Pick<Parts, "cron" | "live">): readonly Method[] => [
  ...readMethods(desk, live),
  importMethod(desk),
  defineMethod({
    name: "cron.add",
    scope: "operator.admin",
    params: fields,
    result: z.union([cronAnswers.add, cronDeclared]),
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
    result: cronAnswers.update,
    run: async ({ patch, expectedConfigRevision, ...which }) =>
      done(await desk.update(idOf(which), patch, { expected: expectedConfigRevision })),
  }),
  defineMethod({
    name: "cron.remove",
    scope: "operator.admin",
    params: z.looseObject(named),
    result: cronAnswers.remove,
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
    result: cronAnswers.run,
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
    result: cronAnswers.import,
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
    result: cronAnswers.status,
    run: async () => desk.status(),
  }),
  listMethod(desk, live),
  defineMethod({
    name: "cron.get",
    scope: "operator.read",
    params: z.looseObject(named),
    result: cronAnswers.get,
    run: async (which) => found(which, desk.get(idOf(which))),
  }),
  defineMethod({
    name: "cron.preview",
    scope: "operator.read",
    params: z.looseObject(named),
    result: cronAnswers.preview,
    run: async (which) => found(which, await desk.preview(idOf(which))),
  }),
  runsMethod(desk, live),
];

const listMethod = (desk: CronDesk, live: Parts["live"]): Method =>
  defineMethod({
    name: "cron.list",
    scope: "operator.read",
    params: listParams,
    result: z.union([cronAnswers.list, cronRows]),
    run: async ({ agentId, compact, includeDeliveryPreviews, ...query }) => {
      const defaultAgent = live.defaultAgent.id;
      const { jobs, total, snapshotRevision } = desk.list({ ...query, ...ofAgent(agentId, defaultAgent) });
      const page = {
        snapshotRevision,
        ...pageOf(query, jobs.length, total),
        ...(includeDeliveryPreviews === true && { deliveryPreviews: await desk.destinations(jobs) }),
      };
      const owned = <T extends { readonly agentId?: string | undefined }>(rows: readonly T[]) =>
        rows.map((row) => ({ ...row, effectiveAgentId: row.agentId ?? defaultAgent }));
      return compact === true ? { jobs: owned(jobs.map(compactView)), ...page } : { jobs: owned(jobs), ...page };
    },
  });

function pageOf({ offset, limit }: { readonly offset: number; readonly limit: number }, count: number, total: number) {
  const next = offset + count;
  return { total, offset, limit, hasMore: next < total, nextOffset: next < total ? next : null };
}

const { limit: most, offset: from, query: words, sortDir } = listParams.shape;

const runsMethod = (desk: CronDesk, live: Parts["live"]): Method =>
  defineMethod({
    name: "cron.runs",
    scope: "operator.read",
    params: z.looseObject({
      ...named,
      limit: most,
      offset: from,
      scope: z.enum(["job", "all"]).optional(),
      runId: id.optional(),
      agentId: id.optional(),
      status: z.enum(["all", ...CRON_STATUSES]).optional(),
      statuses: some(CRON_STATUSES),
      deliveryStatus: z.enum(CRON_DELIVERIES).optional(),
      deliveryStatuses: some(CRON_DELIVERIES),
      query: words,
      sortDir,
    }),
    result: cronAnswers.runs,
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
      return { entries, ...pageOf({ offset, limit }, entries.length, total) };
    },
  });

const listOf = (one: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof one === "string" ? [one] : one;

interface Which {
  readonly id?: string | undefined;
  readonly jobId?: string | undefined;
}

function found<T>(which: Which, answer: T | undefined): T {
  if (answer === undefined) throw notFound(idOf(which));
  return answer;
}

function idOf(which: Which): string {
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
