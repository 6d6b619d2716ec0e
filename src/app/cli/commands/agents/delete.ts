import { type AgentDeleted, agentsAnswers } from "../../../../types/answers/agents.ts";
import { cronAnswers } from "../../../../types/cron/answers.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { isFields } from "../../../../utils/fields.ts";
import { exists } from "../../../../utils/exists.ts";
import { removeAgent } from "../../../agents/agent-file.ts";
import { trashAgent, type Trashed } from "../../../agents/trash.ts";
import { journalPath } from "../../../config/paths.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { withJournal } from "../../with-journal.ts";
import { agentsOf, bindingsOf, oneAgent } from "./list.ts";

interface Json {
  readonly json?: boolean;
}

export interface DeleteFlags extends Json {
  readonly force?: boolean;
  readonly keepFiles?: boolean;
}

interface Deleted extends Pick<AgentDeleted, "removedBindings" | "removed" | "failed"> {
  readonly removedJobs: number;
}

/** Removes an agent with its bindings and jobs, and moves its workspace to the trash. Throws NOT_FOUND, and USAGE if nobody confirms. */
export async function agentsDelete(io: Io, id: string, flags: DeleteFlags): Promise<number> {
  const state = await requireState(io);
  const agent = oneAgent(agentsOf(state, io), id);
  const { workspace } = agent;
  if (flags.force !== true && !(await isSure(io, state, { id, workspace }))) return 1;
  const done = await remove(io, state, { agent, isKept: flags.keepFiles === true });
  if (flags.json === true) writeJson(io, { agentId: id, ...done });
  else {
    io.out(`Removed the agent ${id}, its bindings (${done.removedBindings}) and its jobs (${done.removedJobs}).\n`);
    for (const { path, method } of done.removed) if (method === "trash") io.out(`Moved to the trash: ${path}\n`);
  }
  for (const { path, reason } of done.failed) io.err(`${path} stays: ${reason}.\n`);
  return done.failed.length > 0 ? 1 : 0;
}

async function isSure(io: Io, state: State, { id, workspace }: { id: string; workspace: string }): Promise<boolean> {
  if (!canAsk(io))
    throw new OpenClawError("USAGE", { message: `Nobody confirms that ${id} is removed.`, fix: "Add --yes." });
  const bound = bindingsOf(state, id);
  io.err(`${id} works in ${workspace}${bound.length === 0 ? "" : ` and answers ${bound.join("; ")}`}.\n`);
  return confirmed(`Remove the agent ${id}?`);
}

/** A running gateway does it itself, since it ends the agent's jobs too. */
async function remove(
  io: Io,
  state: State,
  { agent, isKept }: { agent: AgentSettings; isKept: boolean },
): Promise<Deleted> {
  const { id } = agent;
  if (state.owner) {
    const jobs = { agentId: id, enabled: "all", limit: 1 };
    const { total } = await callOnce(io, state, { method: "cron.list", params: jobs, shape: cronAnswers.list });
    const params = { agentId: id, deleteFiles: !isKept };
    const { removedBindings, removed, failed } = await callOnce(io, state, {
      method: "agents.delete",
      params,
      shape: agentsAnswers.delete,
    });
    return { removedBindings, removed, failed, removedJobs: total };
  }
  const removedBindings = await removeAgent(state.load, id);
  const removedJobs = await removeJobs(journalPath(state.paths), id);
  const nothing: Trashed = { removed: [], failed: [] };
  const keep = { stateDir: state.paths.stateDir, others: agentsOf(state, io), now: Date.now() };
  return { removedBindings, removedJobs, ...(isKept ? nothing : await trashAgent(agent, keep)) };
}

async function removeJobs(path: string, id: string): Promise<number> {
  if (!(await exists(path))) return 0;
  return withJournal(path, async ({ cron }) => {
    const jobs = (await cron.all()).filter(({ job }) => isFields(job) && job["agentId"] === id);
    for (const job of jobs) await cron.remove(job.id);
    return jobs.length;
  });
}
