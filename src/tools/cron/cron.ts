import { z } from "zod";
import type { CronActs, CronAsker } from "../../types/cron/acts.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { Risk } from "../../types/run/untrusted.ts";
import type { Tool, ToolContribution, ToolResult } from "../../types/run/tool.ts";
import { readDuration } from "../../utils/time/duration.ts";
import { isFields } from "../../utils/fields.ts";
import { defineTool, errorResult, textResult } from "../define.ts";

const ACTIONS = ["status", "list", "get", "add", "update", "remove", "run", "runs", "wake", "next_check"] as const;
type Action = (typeof ACTIONS)[number];

const fields = z.record(z.string(), z.unknown());

const input = z.lazy(() =>
  z.object({
    action: z.enum(ACTIONS),
    id: z.string().max(200).optional().describe("The job; for get, update, remove, run and runs"),
    jobId: z.string().max(200).optional().describe("As id"),
    job: fields.optional().describe("For add, see above"),
    patch: fields.optional().describe("For update: the fields that change; null removes one"),
    text: z.string().max(4000).optional().describe("For wake"),
    mode: z.enum(["now", "next-heartbeat"]).optional().describe("For wake"),
    runMode: z.enum(["due", "force"]).optional().describe("For run; force when left out"),
    includeDisabled: z.boolean().optional(),
    in: z.string().max(20).optional().describe("For next_check: how long after this run, as 30m"),
    contextMessages: z
      .int()
      .min(0)
      .max(10)
      .optional()
      .describe("For add: last messages of this chat that join the text"),
  }),
);
type Input = z.output<typeof input>;

const DESCRIPTION = `Scheduled jobs: reminders and tasks that run at a time or again and again, also after a restart.
job: {name, schedule, payload, sessionTarget?, delivery?}
schedule: {kind:"at", at:"2026-12-24T18:00:00+01:00" or "20m"} once; {kind:"every", everyMs} ; {kind:"cron", expr:"0 9 * * 1-5", tz:"Europe/Vienna"}
payload: {kind:"systemEvent", text} reminds in this chat; {kind:"agentTurn", message, model?, timeoutSeconds?, toolsAllow?} runs by itself, without this conversation, and its answer is sent here.
pacing: {min?:"15m", max?:"4h"} lets each run of a repeated job say when the next one comes, with next_check.
delivery: {mode:"none"} keeps the answer to itself; {mode:"announce", channel, to} sends it elsewhere.
Write what is to be done then, in full, and say times with an offset or a zone. Tell the user the next run that the answer names.`;

/** The tool `cron`: sets up, changes and shows scheduled jobs. Only runs with an owner's rights have it. */
export const cronTool = (acts: () => CronActs | undefined): ToolContribution => ({
  name: "cron",
  appearance: ({ acting }) => (acts() && hasOwnerRights(acting.principal) ? "" : false),
  forRun({ acting, agent }) {
    const own = acts();
    if (!own || !hasOwnerRights(acting.principal)) return undefined;
    return made(own, { principal: acting.principal, sessionKey: acting.sessionKey, agentId: agent.id });
  },
});

function made(acts: CronActs, asker: CronAsker): Tool {
  return defineTool<Input>({
    name: "cron",
    label: "Schedule",
    description: DESCRIPTION,
    input,
    hasSideEffects: true,
    prepare: withJob,
    riskOf: async ({ action }) => RISKS[action],
    run: (asked) => RUNS[asked.action](asked, acts, asker),
  });
}

const SET_UP = { use: "prompt-files", what: "sets up what the agent does later on its own" } as const;

const BEGIN = { use: "prompt-files", what: "begins a scheduled job, which has an owner's rights" } as const;

/** Actions that a text from outside must not cause. */
const RISKS: Readonly<Partial<Record<Action, Risk>>> = { add: SET_UP, update: SET_UP, run: BEGIN };

/** Names of the tool's parameters; any other field that a model writes beside them belongs to the job. */
const OWN = z.lazy(() => input.unwrap().keyof());
const isOwn = (key: string): boolean => OWN.safeParse(key).success;

/** Parameter with the fields of a job, by action. */
const FIELDS_IN: Readonly<Record<string, "job" | "patch">> = { add: "job", update: "patch" };

/**
 * The arguments with the fields of the job in their parameter. Models that know other versions write these fields
 * beside the action.
 */
function withJob(args: unknown): unknown {
  const name = isFields(args) ? FIELDS_IN[String(args["action"])] : undefined;
  if (!isFields(args) || name === undefined) return args;
  const entries = Object.entries(args);
  const isReminder = args[name] === undefined && args["text"] !== undefined;
  const beside = entries.filter(([key]) => !isOwn(key) || (isReminder && key === "text"));
  if (beside.length === 0) return args;
  const job = isFields(args[name]) ? args[name] : {};
  const rest = entries.filter(([key]) => isOwn(key) && !(isReminder && key === "text"));
  return { ...Object.fromEntries(rest), [name]: { ...Object.fromEntries(beside), ...job } };
}

type Run = (asked: Input, acts: CronActs, asker: CronAsker) => Promise<ToolResult>;

const RUNS: Readonly<Record<Action, Run>> = {
  status: async (_, acts) => shown(acts.status()),
  list: async ({ includeDisabled = false }, acts, asker) => shown({ jobs: acts.list({ includeDisabled }, asker) }),
  get: withId(async (id, _, acts, asker) => acts.get(id, asker)),
  async add({ job, contextMessages = 0 }, acts, asker) {
    if (!job) return errorResult("Give the job: {name, schedule, payload}.");
    return shown(await acts.add(job, { contextMessages }, asker));
  },
  update: withId((id, { patch }, acts, asker) =>
    patch ? acts.update(id, patch, asker) : Promise.resolve("Give the fields that change in `patch`."),
  ),
  remove: withId((id, _, acts, asker) => acts.remove(id, asker)),
  run: withId((id, { runMode = "force" }, acts, asker) => acts.run(id, runMode, asker)),
  runs: withId((id, _, acts, asker) => acts.runs(id, asker)),
  async wake({ text, mode = "now" }, acts, asker) {
    if (text === undefined || text.trim() === "") return errorResult("Give the text.");
    return shown(await acts.wake(text, mode, asker));
  },
  async next_check({ in: text = "" }, acts, asker) {
    const ms = readDuration(text);
    if (ms === undefined || ms <= 0) return errorResult("Give the time after this run in `in`, as 30m or 2h.");
    return shown(await acts.nextCheck(ms, asker));
  },
};

function withId(run: (id: string, ...rest: Parameters<Run>) => Promise<object | string>): Run {
  return async (asked, acts, asker) => {
    const id = asked.id ?? asked.jobId;
    return id === undefined ? errorResult("Give the job's id.") : shown(await run(id, asked, acts, asker));
  };
}

const shown = (answer: object | string): ToolResult =>
  typeof answer === "string" ? errorResult(answer) : textResult(JSON.stringify(answer));
