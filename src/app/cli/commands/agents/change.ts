import { seedWorkspace } from "../../../../prompt/bootstrap.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { agentIdFrom, workspaceFor, writtenPath } from "../../../agents/agent-id.ts";
import { addBoundAgent, matchFrom } from "../../../agents/binding-file.ts";
import { askLine, canAsk } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState } from "../../state.ts";
import { untilFollowed } from "../../until-followed.ts";
import { warnOfChannels } from "./bind.ts";
import { placeFrom } from "./list.ts";

export interface AgentAddFlags {
  readonly workspace?: string;
  readonly agentDir?: string;
  readonly model?: string;
  readonly bind?: readonly string[];
  readonly nonInteractive?: boolean;
  readonly json?: boolean;
}

/** Adds an agent to the config and makes its workspace. Throws USAGE, and what a write of the config throws. */
export async function agentsAdd(io: Io, given: string | undefined, flags: AgentAddFlags): Promise<number> {
  const name = given ?? (await askName(io, flags));
  const state = await requireState(io);
  const id = agentIdFrom(name);
  const matches = (flags.bind ?? []).map((text) => matchFrom(text));
  const workspace =
    flags.workspace === undefined ? workspaceFor(state.paths.stateDir, id) : placeFrom(flags.workspace, io);
  const agentDir = flags.agentDir === undefined ? undefined : placeFrom(flags.agentDir, io);
  const written = (path: string) => writtenPath(path, state.paths.stateDir);
  const entry = {
    name,
    workspace: written(workspace),
    ...defined({ agentDir: agentDir && written(agentDir), model: flags.model }),
  };
  const bound = await addBoundAgent(state.load, id, entry, matches);
  await seedWorkspace(workspace);
  await untilFollowed(io, state);
  warnOfChannels(io, state, matches);
  if (flags.json === true)
    writeJson(io, { agentId: id, name, workspace, ...defined({ model: flags.model }), bindings: bound });
  else {
    io.out(`Added the agent ${id}, which works in ${workspace}.\n`);
    for (const text of [...bound.added, ...bound.updated]) io.out(`It answers: ${text}\n`);
  }
  for (const { binding, agentId } of bound.conflicts) io.err(`${binding} stays with the agent ${agentId}.\n`);
  return bound.conflicts.length > 0 ? 1 : 0;
}

async function askName(io: Io, { nonInteractive }: AgentAddFlags): Promise<string> {
  if (nonInteractive !== true && canAsk(io)) return (await askLine("Name of the agent: ")).trim();
  throw new OpenClawError("USAGE", { message: "The agent has no name.", fix: "Write: openclaw agents add <name>" });
}
