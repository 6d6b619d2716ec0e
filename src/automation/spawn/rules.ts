import { parseModelName, type ModelRef, THINK_LEVELS, type ThinkLevel } from "../../types/run/model.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { SessionAsker, SpawnAsk } from "../../types/subagent/spawn.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { mayUse } from "../../dispatch/candidates.ts";

/** Settings of the config for the subagents of one agent. */
export interface SpawnSettings {
  /** Ids of agents, or `*`; the agent itself is always allowed. */
  readonly allowAgents: readonly string[];
  readonly requireAgentId: boolean;
  readonly maxChildrenPerAgent: number;
  /** Number of subagents of one session, ended ones and corrections included; no limit when 0. */
  readonly maxTotalPerSession: number;
  readonly maxSpawnDepth: number;
  /** Minutes after which a conversation is archived; never when 0. */
  readonly archiveAfterMinutes: number;
  readonly runTimeoutSeconds: number;
  readonly model?: string | undefined;
  readonly thinking?: ThinkLevel | undefined;
  /** `prefer`: the system prompt asks the agent to give work to subagents. */
  readonly delegationMode?: "suggest" | "prefer" | undefined;
}

/** Limits of the config for the files of subagents. */
export interface SpawnFileLimits {
  readonly enabled: boolean;
  readonly maxFiles: number;
  /** Bytes of one file. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

/** Rules of the present config for subagents. */
export interface SpawnRules {
  readonly agents: ReadonlyMap<AgentId, AgentSettings>;
  of(agent: AgentId): SpawnSettings;
  readonly files: SpawnFileLimits;
  /** Whether a mode of the config confines the session of an agent to a sandbox. */
  isSandboxed(agent: AgentId, key: SessionKey): boolean;
}

export type Refused = { readonly status: "forbidden" | "error"; readonly error: string };

export const refusedSpawn = (status: Refused["status"], error: string): Refused => ({ status, error });

/** The requested agent, or the refusal of it. */
export function agentToSpawn(
  { agentId: asked }: Pick<SpawnAsk, "agentId">,
  { agentId: own }: Pick<SessionAsker, "agentId">,
  { agents, of }: Pick<SpawnRules, "agents" | "of">,
): AgentSettings | Refused {
  const { allowAgents, requireAgentId } = of(own);
  if (asked === undefined && requireAgentId)
    return refusedSpawn(
      "forbidden",
      "Name the agent in agentId (agents.defaults.subagents.requireAgentId); see agents_list.",
    );
  const wanted = asked ?? own;
  const agent = [...agents.values()].find(({ id }) => id === wanted);
  const isAllowed = wanted === own || allowAgents.includes("*") || allowAgents.includes(wanted);
  if (!isAllowed)
    return refusedSpawn(
      "forbidden",
      `The agent "${wanted}" may not be started here (agents.defaults.subagents.allowAgents).`,
    );
  return agent ?? refusedSpawn("error", `The agent "${wanted}" does not exist; see agents_list.`);
}

/** Refusal of one more subagent for a session; undefined when the session may have one more. */
export function overLimit(
  { active, total, depth }: { readonly active: number; readonly total: number; readonly depth: number },
  settings: SpawnSettings,
): Refused | undefined {
  if (depth > settings.maxSpawnDepth)
    return refusedSpawn("forbidden", `Subagents may not be ${depth} deep (agents.defaults.subagents.maxSpawnDepth).`);
  if (active >= settings.maxChildrenPerAgent)
    return refusedSpawn(
      "forbidden",
      `${active} subagents of this session are at work, which is the most (agents.defaults.subagents.maxChildrenPerAgent). ` +
        "Wait until one has reported.",
    );
  return overTotal(total, settings);
}

/**
 * Refusal of one more task for subagents of a session; undefined when the task is allowed. Corrections count: each is a
 * run that is announced.
 */
export function overTotal(total: number, { maxTotalPerSession: most }: SpawnSettings): Refused | undefined {
  if (most === 0 || total < most) return undefined;
  return refusedSpawn(
    "forbidden",
    `This session has had ${total} subagents, which is the most (agents.defaults.subagents.maxTotalPerSession).`,
  );
}

/** The model of a subagent, and a note about a request that was not followed. */
export interface ChosenModel {
  readonly ref?: ModelRef;
  readonly note?: string;
}

/** The requested model, or the configured one; a name that cannot be used gives the default and a note. */
export function modelFor(asked: string | undefined, configured: string | undefined, agent: AgentSettings): ChosenModel {
  if (asked !== undefined) {
    const ref = readModel(asked, agent);
    if (ref) return { ref };
    return {
      ...modelFor(undefined, configured, agent),
      note: `The model "${asked}" is not known or not allowed for the agent "${agent.id}", so its default is used.`,
    };
  }
  const ref = configured === undefined ? undefined : readModel(configured, agent);
  return ref ? { ref } : {};
}

function readModel(name: string, agent: AgentSettings): ModelRef | undefined {
  const alias = Object.entries(agent.modelAliases ?? {}).find(([short]) => short.toLowerCase() === name.toLowerCase());
  const ref = parseModelName(alias?.[1] ?? name);
  return ref && mayUse(agent, ref) ? ref : undefined;
}

/** The requested thinking level, or the configured one. */
export function thinkingFor(
  asked: string | undefined,
  configured: ThinkLevel | undefined,
): { readonly level?: ThinkLevel; readonly note?: string } {
  const found = THINK_LEVELS.find((level) => level === asked?.toLowerCase());
  const level = found ?? configured;
  const note = asked !== undefined && !found ? `"${asked}" is no thinking level, so it is left as it is.` : undefined;
  return { ...(level && { level }), ...(note !== undefined && { note }) };
}
