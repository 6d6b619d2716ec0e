import type { CronDesk, CronRefusal } from "../../../automation/cron/desk.ts";
import { isFields } from "../../../utils/fields.ts";
import type { CronJobView } from "../../../types/cron/answers.ts";
import type { Heartbeats } from "../../../automation/heartbeat.ts";
import type { CronActs, CronAsker } from "../../../types/cron/acts.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { hasOwnerRights } from "../../../types/run/principal.ts";
import type { Sessions, TranscriptEntry } from "../../../types/session.ts";

interface ActParts {
  readonly desk: CronDesk;
  readonly heartbeats: Pick<Heartbeats, "wake" | "tell">;
  readonly sessions: Pick<Sessions, "history">;
}

/** Most characters of one message, and of all messages together, that join the text of a job. */
const MOST_LINE_CHARS = 220;
const MOST_CONTEXT_CHARS = 700;
const MOST_LISTED = 200;
/** Entries of a transcript from which on no more are read for these lines. */
const MOST_SEARCHED = 1000;

/** Acts of agents on scheduled jobs. A run of a job deals with its own job only. */
export function cronActs({ desk, heartbeats, sessions }: ActParts): CronActs {
  const mine = (id: string, asker: CronAsker): string | undefined => {
    const own = ownJob(asker);
    return own === undefined || own === id
      ? undefined
      : "This is the run of a scheduled job, which deals with its own job only.";
  };
  const existing = (id: string, asker: CronAsker) => mine(id, asker) ?? desk.get(id) ?? missing(id);
  const changed = async (id: string, asker: CronAsker, change: () => Promise<object | string>) => {
    const found = existing(id, asker);
    return typeof found === "string" ? found : change();
  };
  return {
    status: () => desk.status(),
    list({ includeDisabled }, asker) {
      const { jobs } = desk.list({ enabled: includeDisabled ? "all" : "enabled", limit: MOST_LISTED });
      const own = ownJob(asker);
      return jobs.filter(({ id }) => own === undefined || own === id).map(brief);
    },
    get: existing,
    add: (job, { contextMessages }, asker) => addJob({ desk, sessions }, { job, contextMessages }, asker),
    update: (id, patch, asker) =>
      changed(id, asker, async () => {
        const updated = await desk.update(id, patch, { isAgent: true });
        return isRefusal(updated) ? refusalText(updated) : brief(updated);
      }),
    remove: (id, asker) => changed(id, asker, async () => ({ removed: await desk.remove(id) })),
    run: (id, mode, asker) => changed(id, asker, () => desk.run(id, mode)),
    async nextCheck(ms, asker) {
      const own = ownJob(asker);
      return own === undefined ? "Only the run of a scheduled job chooses its next time." : desk.nextCheck(own, ms);
    },
    runs: (id, asker) => changed(id, asker, () => desk.runs({ jobId: id, limit: 10, offset: 0 })),
    async wake(text, mode, { agentId }) {
      const noBeat = "The agent has no heartbeat: agents.defaults.heartbeat.every switches it off.";
      if (mode === "next-heartbeat")
        return (await heartbeats.tell(agentId, text)) ? { ok: true, mode } : `There is no agent "${agentId}".`;
      return (await heartbeats.wake(agentId, text)) ? { ok: true, mode } : noBeat;
    },
  };
}

async function addJob(
  { desk, sessions }: Pick<ActParts, "desk" | "sessions">,
  { job, contextMessages }: { readonly job: Readonly<Record<string, unknown>>; readonly contextMessages: number },
  asker: CronAsker,
): Promise<object | string> {
  if (ownJob(asker) !== undefined) return "The run of a scheduled job cannot set up another one.";
  const { agentId, sessionKey, principal } = asker;
  const whole = withContext(job, await linesOf(sessionKey, contextMessages, sessions));
  const maker = {
    setUpBy: hasOwnerRights(principal) ? ("owner" as const) : ("guest" as const),
    isAgent: true as const,
  };
  const added = await desk.add(whole, { ...maker, defaults: { agentId, sessionKey }, owner: { agentId, sessionKey } });
  if (!("view" in added)) return refusalText(added);
  const preview = await desk.preview(added.view.id);
  const problem = preview?.place.problem;
  return {
    ...brief(added.view),
    nextRuns: preview?.nextRunsAtMs.map(isoOf),
    ...(problem !== undefined && { warning: problem }),
  };
}

/** The job whose run asks; undefined for every other turn. */
function ownJob({ principal }: CronAsker): string | undefined {
  return principal.kind === "automation" && principal.id.startsWith("cron:")
    ? principal.id.slice("cron:".length)
    : undefined;
}

const missing = (id: string): string => `There is no scheduled job ${id}; \`list\` shows those that there are.`;

const isRefusal = (answer: CronJobView | CronRefusal): answer is CronRefusal =>
  "problem" in answer || "missing" in answer || "conflict" in answer;

function refusalText(refusal: CronRefusal): string {
  if ("problem" in refusal) return `The job cannot be: ${refusal.problem}.`;
  return "missing" in refusal ? missing(refusal.missing) : "Somebody else has changed the job.";
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Facts of a job for a model. */
function brief({ id, name, enabled, schedule, payload, sessionTarget, delivery, state }: CronJobView) {
  return {
    id,
    name,
    ...(!enabled && { enabled }),
    schedule,
    payload,
    sessionTarget,
    ...(delivery && { delivery }),
    ...(state.nextRunAtMs !== undefined && { nextRun: isoOf(state.nextRunAtMs) }),
    ...(state.lastRunStatus !== undefined && { lastRun: state.lastRunStatus }),
    ...(state.lastRunStatus === "error" && { lastError: state.lastError }),
  };
}

async function linesOf(
  key: SessionKey,
  count: number,
  { history }: Pick<Sessions, "history">,
): Promise<readonly string[]> {
  if (count === 0) return [];
  const lines = [...(await newestLines(key, count, history))];
  while (lines.join("\n").length > MOST_CONTEXT_CHARS) lines.shift();
  return lines;
}

/** The newest `count` lines. Results of tools are no lines, so that more entries are read until there are enough. */
async function newestLines(key: SessionKey, count: number, history: Sessions["history"]): Promise<readonly string[]> {
  for (let limit = count * 3; ; limit *= 4) {
    const { entries, hasMore } = await history(key, limit);
    const lines = entries.flatMap(lineOf);
    if (lines.length >= count || !hasMore || limit >= MOST_SEARCHED) return lines.slice(-count);
  }
}

function lineOf(entry: TranscriptEntry): readonly string[] {
  if (entry.type !== "message" || entry.message.role === "toolResult") return [];
  const { role, content } = entry.message;
  const text =
    typeof content === "string"
      ? content
      : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
  const line = text.replace(/\s+/g, " ").trim().slice(0, MOST_LINE_CHARS);
  return line === "" ? [] : [`- ${role === "user" ? "User" : "Agent"}: ${line}`];
}

/** The job, with the lines below its text. */
function withContext(
  job: Readonly<Record<string, unknown>>,
  lines: readonly string[],
): Readonly<Record<string, unknown>> {
  if (lines.length === 0) return job;
  const add = (text: unknown) => `${String(text)}\n\nThe conversation in which this was set up:\n${lines.join("\n")}`;
  const { payload } = job;
  const [holder, rest] = isFields(payload) ? [payload, job] : [job, undefined];
  const field = holder["message"] === undefined ? "text" : "message";
  if (holder[field] === undefined) return job;
  const changed = { ...holder, [field]: add(holder[field]) };
  return rest ? { ...rest, payload: changed } : changed;
}
