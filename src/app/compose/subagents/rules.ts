import type { SpawnRules, SpawnSettings } from "../../../automation/spawn/rules.ts";
import type { TalkRules } from "../../../automation/talk/visible.ts";
import { OPERATOR } from "../../../types/run/principal.ts";
import type { AgentId, SessionKey } from "../../../types/ids.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { once } from "../../../utils/share-calls.ts";
import type { Live } from "../../live.ts";
import { confinedIn, type Machine } from "../sandbox/sandboxing.ts";

/** The config's rules for subagents. */
export function spawnRules(live: Pick<Live, "config" | "agents">, machine: Machine): SpawnRules {
  const agents = byId(live.agents);
  return {
    agents,
    of: (agent) => spawnSettings(live, agent),
    files: live.config.tools.sessions_spawn.attachments,
    isSandboxed(id: AgentId, key: SessionKey) {
      const agent = agents.get(id);
      return agent !== undefined && confinedIn(agent, { principal: OPERATOR, sessionKey: key }, machine).files;
    },
  };
}

/** The agents of one config by id, which stay the same until the config is read again. */
const byId = once((agents: readonly AgentSettings[]) => new Map(agents.map((agent) => [agent.id, agent])));

/** The settings of `agents.defaults.subagents`, overridden by the agent's own entry. */
function spawnSettings({ config }: Pick<Live, "config">, agent: AgentId): SpawnSettings {
  const { defaults, list } = config.agents;
  const own = list.find(({ id }) => id === agent)?.subagents;
  const { model, allowAgents = [], requireAgentId = false, ...settings } = { ...defaults.subagents, ...own };
  const name = typeof model === "object" ? model.primary : model;
  return { ...settings, allowAgents, requireAgentId, model: name };
}

/** The config's rules for sessions that agents see and write to. */
export function talkRules({
  config,
  agents,
  defaultAgent,
}: Pick<Live, "config" | "agents" | "defaultAgent">): TalkRules {
  const { sessions, agentToAgent } = config.tools;
  const ids = new Set(agents.map(({ id }) => id));
  return {
    defaultAgent: defaultAgent.id,
    agents: ids,
    visibility: sessions.visibility,
    agentToAgent,
    maxPingPongTurns: config.session.agentToAgent.maxPingPongTurns,
  };
}
