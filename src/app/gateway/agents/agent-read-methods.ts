import { z } from "zod";
import { agentOf } from "../../../sessions/keys.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { agentsAnswers, type Identity } from "../../../types/answers/agents.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { type ModelRef, THINK_LEVELS } from "../../../types/run/model.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { defined } from "../../../utils/defined.ts";
import { showAvatar, workspaceIdentity } from "../../agents/identity.ts";
import type { Config } from "../../config/schema/schema.ts";
import type { Parts } from "../parts/parts.ts";

type Live = Parts["live"];

/** The methods that show agents. */
export const agentReadMethods = ({ live, log }: Pick<Parts, "live" | "log">): readonly Method[] => [
  defineMethod({
    name: "agents.list",
    scope: "operator.read",
    params: z.looseObject({}),
    result: agentsAnswers.list,
    run: async () => ({
      defaultId: live.defaultAgent.id,
      mainKey: "main",
      scope: live.config.session.scope === "global" ? "global" : "per-sender",
      agents: live.agents.map((agent) => summaryOf(agent, live.config)),
    }),
  }),
  defineMethod({
    name: "agent.identity.get",
    scope: "operator.read",
    params: z.looseObject({ agentId: z.string().min(1).max(200).optional(), sessionKey: keyParam().optional() }),
    result: agentsAnswers.identity,
    run: async ({ agentId, sessionKey }) => identityIn({ live, log }, agentFor(live, { agentId, sessionKey })),
  }),
];

/** An agent by its id. Throws `NOT_FOUND` with the code of the protocol. */
export function knownAgent({ agents }: Pick<Live, "agents">, id: string): AgentSettings {
  const found = agents.find((agent) => agent.id === id);
  if (found) return found;
  throw new MethodError("NOT_FOUND", `there is no agent "${id}"`, {
    details: { code: "UNKNOWN_AGENT_ID", agentId: id },
  });
}

function agentFor(
  live: Live,
  { agentId, sessionKey }: { readonly agentId: string | undefined; readonly sessionKey: SessionKey | undefined },
): AgentSettings {
  if (agentId !== undefined || sessionKey === undefined) return knownAgent(live, agentId ?? live.defaultAgent.id);
  const { id } = live.defaultAgent;
  return knownAgent(live, agentOf(sessionKey, id));
}

const entryOf = (id: string, { agents }: Config) => agents.list.find((entry) => entry.id === id);

function summaryOf({ id, name, workspace, model, thinking }: AgentSettings, config: Config) {
  const identity = written(entryOf(id, config)?.identity);
  return {
    id,
    ...defined({ name: name || undefined }),
    ...(Object.keys(identity).length > 0 && { identity }),
    workspace,
    model: {
      ...(model.primary && { primary: showModel(model.primary) }),
      ...(model.fallbacks.length > 0 && { fallbacks: model.fallbacks.map(showModel) }),
    },
    thinkingLevels: THINK_LEVELS.map((level) => ({ id: level, label: level })),
    thinkingOptions: [...THINK_LEVELS],
    thinkingDefault: thinking,
  };
}

const showModel = ({ provider, id }: ModelRef): string => `${provider}/${id}`;

/** An identity without the keys that have no text. */
const written = (identity: { readonly [Key in keyof Identity]?: string | undefined } = {}): Identity =>
  Object.fromEntries(Object.entries(identity).filter(([, value]) => value !== undefined && value !== ""));

/** The identity of an agent. The config counts before `IDENTITY.md` of the workspace, key by key. */
async function identityIn({ live, log }: Pick<Parts, "live" | "log">, { id, name, workspace }: AgentSettings) {
  const said = written(entryOf(id, live.config)?.identity);
  const found = await workspaceIdentity(workspace).catch((error: unknown): Identity => {
    log.warn("the identity of the workspace is not shown", { agent: id, error });
    return {};
  });
  const named = [
    { name: said.name, nameSource: "config" },
    { name: name || undefined, nameSource: "agent" },
    { name: found.name, nameSource: "workspace" },
    { name: id, nameSource: "default" },
  ].find((one) => one.name !== undefined);
  return {
    agentId: id,
    ...named,
    ...defined({ emoji: said.emoji ?? found.emoji }),
    ...(await showAvatar(said.avatar ?? found.avatar, workspace)),
  };
}
