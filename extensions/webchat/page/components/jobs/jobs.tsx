import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { channelName, dayAndTime, seconds, shortCount } from "../../model/format.ts";
import { useNow } from "../common/hooks.ts";
import { jobDeliveryText, jobStatusText } from "../turns/run-words.ts";
import { isEditable, JobForm } from "./job-form.tsx";
import {
  type ViewActs,
  ActButton,
  ListRow,
  mayAsk,
  Pick,
  RowList,
  RowText,
  SureButton,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "../views/view-parts.tsx";
import { rich } from "../../words/rich.ts";
import { t } from "../../words/words.ts";

type Job = Answers["cron.list"]["jobs"][number];
type Run = Answers["cron.runs"]["entries"][number];

const CHANGED = { changedBy: ["cron"] };

/** The scheduled jobs, each with its next run and its runs, and the latest runs of all. */
export function JobsView(props: ViewProps): VNode {
  const [query, setQuery] = useState("");
  const params = { enabled: "all", limit: 200, includeDeliveryPreviews: true, ...(query !== "" && { query }) };
  const jobs = useAnswer(props, { method: "cron.list", params, ...CHANGED });
  const status = useAnswer(props, { method: "cron.status", ...CHANGED });
  const acting = useActing(jobs.again);
  const [isAdding, setAdding] = useState(false);
  const { deliveryPreviews = {} } = jobs.answer ?? {};
  return (
    <ViewFrame
      tools={
        <>
          <input
            type="search"
            aria-label={t("Search the jobs")}
            placeholder={t("Search the jobs")}
            onInput={(event) => setQuery(event.currentTarget.value.trim())}
          />
          {mayAsk(props, "cron.add") && <ActButton label={t("New job")} act={() => setAdding(!isAdding)} />}
        </>
      }
      problems={[jobs.problem, acting.problem]}
      isRead={jobs.answer !== undefined}
    >
      {status.answer?.enabled === false && (
        <p class="outcome error" role="status">
          {rich("Jobs are switched off in the config: none runs until {code} is taken out.", {
            code: <code>cron.enabled</code>,
          })}
        </p>
      )}
      {isAdding && <JobForm view={props} done={() => (setAdding(false), jobs.again())} />}
      <RowList title={t("Jobs")} empty={query === "" ? NO_JOB : t("No job has these words.")}>
        {(jobs.answer?.jobs ?? []).map((job) => (
          <JobRow
            key={job.id}
            view={props}
            job={job}
            acting={acting}
            again={jobs.again}
            goesTo={job.delivery?.mode === "none" ? undefined : destinationText(deliveryPreviews[job.id]?.label)}
          />
        ))}
      </RowList>
      {jobs.answer?.hasMore === true && (
        <p class="hint">{t("Search for a job that is not among these {limit}.", { limit: params.limit })}</p>
      )}
      <LatestRuns view={props} />
    </ViewFrame>
  );
}

interface JobProps {
  readonly view: ViewProps;
  readonly job: Job;
  readonly acting: ViewActs;
  /** Where its answers go. */
  readonly goesTo: string | undefined;
  readonly again: () => void;
}

function JobRow({ view, job, acting, goesTo, again }: JobProps): VNode {
  const now = useNow(30_000);
  const [isOpened, setOpened] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const isOfDefault = job.effectiveAgentId === view.state.hello?.defaultAgent;
  return (
    <ListRow
      title={job.displayName ?? job.name}
      facts={[
        scheduleText(job.schedule),
        job.enabled ? nextText(job, now) : t("switched off"),
        isOfDefault ? undefined : t("agent {id}", { id: job.effectiveAgentId }),
        goesTo,
      ]}
      error={
        job.state.lastRunStatus === "error"
          ? t("The last run failed: {error}", { error: job.state.lastError ?? "" })
          : undefined
      }
      actions={
        <>
          <JobActs chat={view.chat} job={job} acting={acting} />
          {isEditable(job) && mayAsk(view, "cron.update") && (
            <ActButton label={t("Change")} act={() => setChanging(!isChanging)} />
          )}
        </>
      }
    >
      {isChanging && <JobForm view={view} job={job} done={() => (setChanging(false), again())} />}
      <RowText text={whatOf(job)} />
      <button type="button" class="link" aria-expanded={isOpened} onClick={() => setOpened(!isOpened)}>
        {lastText(job, now)}
      </button>
      {isOpened && <JobRuns view={view} job={job} now={now} />}
    </ListRow>
  );
}

function JobActs({ chat, job, acting }: { chat: ViewProps["chat"]; job: Job; acting: ViewActs }): VNode {
  const { id, enabled } = job;
  const { act, isBusy } = acting;
  return (
    <>
      <ActButton
        label={t("Run now")}
        isDisabled={isBusy}
        act={() => act(() => chat.ask("cron.run", { id, mode: "force" }))}
      />
      <ActButton
        label={enabled ? t("Switch off") : t("Switch on")}
        isDisabled={isBusy}
        act={() => act(() => chat.ask("cron.update", { id, patch: { enabled: !enabled } }))}
      />
      <SureButton
        label={t("Delete")}
        sure={t("Delete the job")}
        act={() => act(() => chat.ask("cron.remove", { id }))}
      />
    </>
  );
}

const NO_JOB = t("No jobs. Ask the agent for one, such as “remind me every Monday at nine to water the plants”.");

function JobRuns({ view, job, now }: { view: ViewProps; job: Job; now: number }): VNode {
  const runs = useAnswer(view, { method: "cron.runs", params: { id: job.id, limit: 20 }, ...CHANGED });
  return (
    <ViewFrame problems={[runs.problem]} isRead={runs.answer !== undefined}>
      <RowList title={t("Runs of {name}", { name: job.name })} empty={t("No run yet.")}>
        {(runs.answer?.entries ?? []).map((run) => (
          <RunRow key={`${run.ts}`} view={view} run={run} now={now} />
        ))}
      </RowList>
    </ViewFrame>
  );
}

const STEP = 10;
const WHICH_RUNS = [
  ["all", t("All runs")],
  ["error", t("Failed runs")],
] as const;

/** The latest runs of all jobs, also of jobs that were deleted. */
function LatestRuns({ view }: { readonly view: ViewProps }): VNode {
  const now = useNow(30_000);
  const [status, setStatus] = useState<(typeof WHICH_RUNS)[number][0]>("all");
  const [limit, setLimit] = useState(STEP);
  const runs = useAnswer(view, { method: "cron.runs", params: { scope: "all", status, limit }, ...CHANGED });
  const title = t("Latest runs of all jobs");
  return (
    <ViewFrame
      tools={<Pick label={t("Which runs")} value={status} options={WHICH_RUNS} choose={setStatus} />}
      problems={[runs.problem]}
      isRead={runs.answer !== undefined}
    >
      <RowList title={title} empty={status === "all" ? t("No run yet.") : t("No run has failed.")}>
        {(runs.answer?.entries ?? []).map((run) => (
          <RunRow key={`${run.jobId} ${run.ts}`} view={view} run={run} now={now} name={run.jobName ?? run.jobId} />
        ))}
      </RowList>
      {runs.answer?.hasMore === true && <ActButton label={t("Show more")} act={() => setLimit(limit + STEP)} />}
    </ViewFrame>
  );
}

interface RunProps {
  readonly view: ViewProps;
  readonly run: Run;
  readonly now: number;
  /** Of its job, where others are in the list. */
  readonly name?: string;
}

function RunRow({ view, run, now, name }: RunProps): VNode {
  const at = when(run.runAtMs ?? run.ts, now);
  return (
    <ListRow
      title={name ?? at}
      facts={[
        name && at,
        jobStatusText(run.status),
        run.deliveryStatus === "not-requested" ? undefined : jobDeliveryText(run.deliveryStatus),
        run.model,
        tookText(run),
        tokensText(run),
      ]}
      error={run.error ?? run.deliveryError}
    >
      {run.summary !== undefined && <RowText text={run.summary} />}
      {run.sessionKey !== undefined && (
        <button type="button" class="link" onClick={() => view.chat.open(run.sessionKey ?? "")}>
          {t("Open its conversation")}
        </button>
      )}
    </ListRow>
  );
}

/** Where the answers of a job go, from the gateway's short words for it. */
function destinationText(label: string | undefined): string | undefined {
  if (label === "webhook") return t("answers go to a webhook");
  if (label === "not requested") return t("answers go nowhere");
  const channel = label?.startsWith(ANNOUNCED) === true ? label.slice(ANNOUNCED.length) : undefined;
  if (channel === undefined) return label;
  return channel === "last"
    ? t("answers go to the chat that was used last")
    : t("answers go to {channel}", { channel: channelName(channel) });
}
const ANNOUNCED = "announce -> ";

const tookText = ({ durationMs }: Run): string | undefined =>
  durationMs === undefined ? undefined : seconds(durationMs);

const tokensText = ({ usage }: Run): string | undefined =>
  usage && t("{count} tokens", { count: shortCount(usage.total_tokens) });

const nextText = ({ nextRunAtMs }: Job, now: number): string =>
  nextRunAtMs === undefined ? t("no next run") : t("next {time}", { time: when(nextRunAtMs, now) });

function lastText({ state }: Job, now: number): string {
  return state.lastRunAtMs === undefined
    ? t("No run yet")
    : t("Last run {time}: show its runs", { time: when(state.lastRunAtMs, now) });
}

function whatOf({ payload }: Job): string {
  if (payload.kind === "agentTurn") return payload.message;
  return payload.kind === "command" ? payload.argv.join(" ") : payload.text;
}

/** A schedule in words. */
function scheduleText(schedule: Job["schedule"]): string {
  switch (schedule.kind) {
    case "at":
      return t("once, at {time}", {
        time: dayAndTime(new Date(schedule.at)),
      });
    case "every":
      return spanText(Number(schedule.everyMs));
    case "cron":
      return `${schedule.expr}${schedule.tz === undefined ? "" : ` (${schedule.tz})`}`;
    case "on-exit":
      return t("when its command ends");
    default:
      return t("on lines of its command");
  }
}

const SPANS = [
  [86_400_000, (n: number) => t("every day|every {n} days", { n })],
  [3_600_000, (n: number) => t("every hour|every {n} hours", { n })],
  [60_000, (n: number) => t("every minute|every {n} minutes", { n })],
  [1000, (n: number) => t("every second|every {n} seconds", { n })],
] as const;

function spanText(ms: number): string {
  const [unit, words] = SPANS.find(([span]) => ms % span === 0) ?? SPANS[3];
  return words(ms / unit);
}
