import { readFile } from "node:fs/promises";
import type { Identity } from "../../../../types/answers/agents.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { changeAgent } from "../../../agents/agent-file.ts";
import { identityKeys, parseIdentity, workspaceIdentity } from "../../../agents/identity.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { untilFollowed } from "../../until-followed.ts";
import { agentsOf, oneAgent, placeFrom } from "./list.ts";

export interface IdentityFlags extends Identity {
  readonly agent?: string;
  readonly workspace?: string;
  readonly identityFile?: string;
  readonly fromIdentity?: boolean;
  readonly json?: boolean;
}

/** Sets what an agent is like; flags count before the file. Throws NOT_FOUND, and USAGE when nothing is given. */
export async function agentsSetIdentity(io: Io, flags: IdentityFlags): Promise<number> {
  const state = await requireState(io);
  const { id, workspace } = chosen(io, state, flags);
  const { name, theme, emoji, avatar } = flags;
  const identity = { ...(await identityFrom(flags, workspace)), ...defined({ name, theme, emoji, avatar }) };
  if (Object.keys(identity).length === 0)
    throw new OpenClawError("USAGE", {
      message: "No identity is given.",
      fix: "Use --name, --theme, --emoji, --avatar, --from-identity or --identity-file.",
    });
  await changeAgent(state.load, id, identityKeys(identity));
  await untilFollowed(io, state);
  if (flags.json === true) writeJson(io, { agentId: id, identity });
  else
    for (const [key, value] of Object.entries(identity)) io.out(`${id}: ${key} ${value === "" ? "removed" : value}\n`);
  return 0;
}

function chosen(io: Io, state: State, { agent, workspace }: IdentityFlags) {
  const agents = agentsOf(state, io);
  if (agent !== undefined || workspace === undefined) return oneAgent(agents, agent);
  const found = agents.filter((one) => one.workspace === placeFrom(workspace, io));
  const [first] = found;
  if (first && found.length === 1) return first;
  throw new OpenClawError(first ? "USAGE" : "NOT_FOUND", {
    message: first ? `Several agents work in ${workspace}.` : `No agent works in ${workspace}.`,
    fix: "Name the agent with --agent.",
  });
}

async function identityFrom({ identityFile, fromIdentity }: IdentityFlags, workspace: string): Promise<Identity> {
  if (identityFile === undefined && fromIdentity !== true) return {};
  try {
    if (identityFile === undefined) return await workspaceIdentity(workspace);
    return parseIdentity(await readFile(identityFile, "utf8"));
  } catch (error) {
    throw new OpenClawError("NOT_FOUND", {
      message: `${identityFile ?? `The identity of ${workspace}`} cannot be read: ${errorText(error)}`,
      fix: "Make the file readable, or name another one with --identity-file.",
      cause: error,
    });
  }
}
