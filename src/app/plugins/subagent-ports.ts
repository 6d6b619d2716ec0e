import { SUBAGENT } from "../../tools/session/spawn-names.ts";
import { mayUse } from "../../dispatch/candidates.ts";
import type { PluginSubagentPorts, SubagentGrant } from "../../plugins/ports.ts";
import { canonicalKey } from "../../sessions/keys.ts";
import { DEFAULT_ACCOUNT, type RunId, sessionKey } from "../../types/ids.ts";
import type { MessageKey } from "../../types/run/message-run.ts";
import type { SubagentRequest } from "../../types/subagent/subagent.ts";
import { allowedModels } from "../compose/allowed-models.ts";
import type { Core } from "../compose/core.ts";
import type { Live } from "../live.ts";
import { openSubagents } from "../compose/subagents/subagents.ts";
import { readModelRef } from "../config/settings.ts";
import { runPorts } from "./event-ports.ts";
import { modelsOf } from "./models-of.ts";

type SubagentCore = Pick<Core, "dispatch" | "journal" | "sessions" | "ports">;

/** Subagents for plugins, with the models that the config lets each plugin name. */
export function subagentPorts(live: Live, core: SubagentCore): PluginSubagentPorts {
  const subagents = openSubagents(live, core);
  const runs = runPorts(core);
  return {
    async run(request, grant) {
      requireModel(request, grant, core);
      return subagents.run(request);
    },
    waitFor: (wait) => subagents.waitFor(wait),
    owns: (session) => subagents.owns(session),
    messages: (key, limit) => subagents.messages(key, limit),
    remove: (session) => subagents.remove(session),
    runsOf: (id, signal) => runs.runsOf({ key: keyOf(id), stored: Promise.resolve() }, signal),
    stop: (id) => runs.stopMessage(keyOf(id)),
  };
}

/** The message of a subagent's run. */
const keyOf = (id: RunId): MessageKey => ({ channel: SUBAGENT, account: DEFAULT_ACCOUNT, eventKey: id });

/** Throws when the plugin may not name the model, or the agent may not use it. */
function requireModel(
  { sessionKey: text, model, plugin = "" }: SubagentRequest,
  grant: SubagentGrant,
  { ports }: SubagentCore,
): void {
  const { agents, agentOf, defaultAgent } = ports.settings();
  const agent = agents.get(agentOf(canonicalKey(sessionKey(text), defaultAgent)));
  // A request without an agent is refused for that reason.
  if (model === undefined || !agent) return;
  allowedModels(modelsOf(agent), { plugin, what: "subagent", grant, model });
  if (mayUse(agent, readModelRef(model))) return;
  throw new Error(
    `Plugin subagent run model override "${model}" is not allowed for agent "${agent.id}": add it to agents.defaults.models.`,
  );
}

const needsGateway = (): Promise<never> => Promise.reject(new Error("only the running gateway can start a subagent"));

/** Ports for subagents in a process without a gateway. */
export const noSubagentPorts: PluginSubagentPorts = {
  run: needsGateway,
  waitFor: needsGateway,
  owns: () => false,
  messages: needsGateway,
  remove: needsGateway,
  runsOf: async function* none() {},
  stop: needsGateway,
};
