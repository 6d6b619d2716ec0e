import { z } from "zod";
import { seedWorkspace } from "../../../../prompt/bootstrap.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { addAgent, removeAgent } from "../../../agents/agent-file.ts";
import { agentIdFrom, workspaceFor } from "../../../agents/agent-id.ts";
import { bindAgent, matchFrom, type Bound } from "../../../agents/binding-file.ts";
import { moveToTrash, type Trashed } from "../../../agents/trash.ts";
import { askLine, canAsk, confirmed } from "../../ask.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { agentsOf, bindingsOf, oneAgent, placeFrom } from "./list.ts";

export interface AddFlags {
  readonly workspace?: string;
  readonly model?: string;
  readonly bind?: readonly string[];
  readonly nonInteractive?: boolean;
  readonly json?: boolean;
}

/** Adds an agent to the config and makes its workspace. Throws USAGE, and what a write of the config throws. */
export async function agentsAdd(io: Io, given: string | undefined, flags: AddFlags): Promise<number> {
  const name = given ?? (await askName(io, flags));
  const state = await requireState(io);
  const id = agentIdFrom(name);
  const matches = (flags.bind ?? []).map((text) => matchFrom(text));
  const workspace =
    flags.workspace === undefined ? workspaceFor(state.paths.stateDir, id) : placeFrom(flags.workspace, io);
  await addAgent(state.load, id, { name, workspace, ...defined({ model: flags.model }) });
  await seedWorkspace(workspace);
  const bound = matches.length === 0 ? NOTHING_BOUND : await bindAgent(state.load, id, matches);
  if (flags.json === true)
    writeJson(io, { agentId: id, name, workspace, ...defined({ model: flags.model }), bindings: bound });
  else {
    io.out(`Added the agent ${id}, which works in ${workspace}.\n`);
    for (const text of [...bound.added, ...bound.updated]) io.out(`It answers: ${text}\n`);
  }
  for (const { binding, agentId } of bound.conflicts) io.err(`${binding} stays with the agent ${agentId}.\n`);
  return bound.conflicts.length > 0 ? 1 : 0;
}

const NOTHING_BOUND: Bound = { added: [], updated: [], skipped: [], conflicts: [] };

async function askName(io: Io, { nonInteractive }: AddFlags): Promise<string> {
  if (nonInteractive !== true && canAsk(io)) return (await askLine("Name of the agent: ")).trim();
  throw new OpenClawError("USAGE", { message: "The agent has no name.", fix: "Write: openclaw agents add <name>" });
}

interface Json {
  readonly json?: boolean;
}

export interface DeleteFlags extends Json {
  readonly force?: boolean;
  readonly keepFiles?: boolean;
}

const deleted = z.looseObject({
  removedBindings: z.number(),
  removed: z.array(z.looseObject({ path: z.string() })).default([]),
  failed: z.array(z.looseObject({ path: z.string(), reason: z.string() })).default([]),
});
type Deleted = z.output<typeof deleted>;

/** Removes an agent with its bindings and jobs, and moves its workspace to the trash. Throws NOT_FOUND, and USAGE if nobody confirms. */
export async function agentsDelete(io: Io, id: string, flags: DeleteFlags): Promise<number> {
  const state = await requireState(io);
  const { workspace } = oneAgent(agentsOf(state, io), id);
  if (flags.force !== true && !(await isSure(io, state, { id, workspace }))) return 1;
  const done = await remove(io, state, { id, workspace, isKept: flags.keepFiles === true });
  if (flags.json === true) writeJson(io, { agentId: id, ...done });
  else {
    io.out(`Removed the agent ${id} and ${done.removedBindings} bindings.\n`);
    for (const { path } of done.removed) io.out(`Moved to the trash: ${path}\n`);
  }
  for (const { path, reason } of done.failed) io.err(`${path} stays: ${reason}.\n`);
  return done.failed.length > 0 ? 1 : 0;
}

async function isSure(io: Io, state: State, { id, workspace }: { id: string; workspace: string }): Promise<boolean> {
  if (!canAsk(io))
    throw new OpenClawError("USAGE", { message: `Nobody confirms that ${id} is removed.`, fix: "Add --force." });
  const bound = bindingsOf(state, id);
  io.err(`${id} works in ${workspace}${bound.length === 0 ? "" : ` and answers ${bound.join("; ")}`}.\n`);
  return confirmed(`Remove the agent ${id}?`);
}

/** A running gateway does it itself, since it ends the agent's jobs too. */
async function remove(
  io: Io,
  state: State,
  { id, workspace, isKept }: { id: string; workspace: string; isKept: boolean },
): Promise<Deleted> {
  if (state.owner) {
    const params = { agentId: id, deleteFiles: !isKept };
    return callOnce(io, state, { method: "agents.delete", params, shape: deleted });
  }
  const removedBindings = await removeAgent(state.load, id);
  const nothing: Trashed = { removed: [], failed: [] };
  const others = agentsOf(state, io).flatMap((agent) => (agent.id === id ? [] : [agent.workspace]));
  const keep = { stateDir: state.paths.stateDir, others, now: Date.now() };
  return { removedBindings, ...(isKept ? nothing : await moveToTrash([workspace], keep)) };
}
