import { homedir } from "node:os";
import { resolve } from "node:path";
import { isRoute } from "../../../../channels/routing/bindings.ts";
import { defined } from "../../../../utils/defined.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { bindingName } from "../../../agents/binding-file.ts";
import { unknownAgent } from "../../../agents/agent-file.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { table } from "../../table.ts";

/** The agents of a state directory, the default one first. */
export const agentsOf = ({ config, paths }: State, { env }: Io): readonly AgentSettings[] =>
  resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });

/** One of them by its id; the default one without an id. Throws NOT_FOUND. */
export function oneAgent(agents: readonly AgentSettings[], id: string | undefined): AgentSettings {
  const found = id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
  if (!found) throw unknownAgent(id ?? "");
  return found;
}

/** A directory of the command line as an absolute path. */
export const placeFrom = (path: string, { env }: Io): string =>
  path === "~" || path.startsWith("~/") ? resolve(env["HOME"] ?? homedir(), path.slice(2)) : resolve(path);

/** The chats that the bindings of an agent match, in one line each. */
export const bindingsOf = ({ config }: State, id: string): readonly string[] =>
  config.bindings.filter((one) => one.agentId === id && isRoute(one)).map(({ match }) => bindingName(match));

export interface AgentListFlags {
  readonly bindings?: boolean;
  readonly json?: boolean;
}

/** Lists the agents, the default one first, from the config file. */
export async function agentsList(io: Io, flags: AgentListFlags): Promise<number> {
  const state = await requireState(io);
  const rows = agentsOf(state, io).map((agent, at) => rowOf(state, agent, { isDefault: at === 0, ...flags }));
  if (flags.json === true) {
    writeJson(io, rows);
    return 0;
  }
  const shown = rows.map(({ id, name, identityEmoji = "", model = "", workspace, isDefault, bindings }) => [
    `${id}${isDefault ? " (default)" : ""}`,
    [identityEmoji, name ?? ""].filter((part) => part !== "").join(" "),
    model,
    workspace,
    String(bindings),
  ]);
  io.out(table(io, ["AGENT", "NAME", "MODEL", "WORKSPACE", "BINDINGS"], shown));
  if (flags.bindings === true)
    for (const { id, bindingDetails = [] } of rows) for (const text of bindingDetails) io.out(`${id}: ${text}\n`);
  return 0;
}

function rowOf(
  state: State,
  { id, name, workspace, model: { primary } }: AgentSettings,
  flags: AgentListFlags & { readonly isDefault: boolean },
) {
  const { identity } = state.config.agents.list.find((entry) => entry.id === id) ?? {};
  const bound = bindingsOf(state, id);
  return {
    id,
    ...defined({ name, identityName: identity?.name, identityEmoji: identity?.emoji }),
    workspace,
    ...(primary && { model: `${primary.provider}/${primary.id}` }),
    isDefault: flags.isDefault,
    bindings: bound.length,
    ...(flags.bindings === true && { bindingDetails: bound }),
  };
}
