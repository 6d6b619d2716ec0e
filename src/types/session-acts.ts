import type { AgentId, SessionKey } from "./ids.ts";
import type { Plan } from "./plan.ts";
import type { SessionAsker } from "./subagent/spawn.ts";

/** An agent of this gateway, as other agents see it. */
export interface KnownAgent {
  readonly id: AgentId;
  readonly name?: string;
}

/** Operations of agents on sessions. The program implements each. */
export interface SessionActs {
  /** The session that an agent names: by its key in any form, or by `main`. */
  named(text: string): SessionKey;
  /** A session's key as people and agents see it. */
  shown(key: SessionKey): string;
  /** Replaces the plan of a session. Rejects when it cannot be kept. */
  keepPlan(key: SessionKey, plan: Plan): Promise<void>;
  /** A session's model, usage, cost and plan as text. Undefined when there is no such session. */
  status(key: SessionKey, options: { readonly isOwner: boolean }): Promise<string | undefined>;
  /** Why a run may not see a session; undefined when it may. */
  whyHidden(key: SessionKey, asker: SessionAsker): string | undefined;
  /** Chooses a session's model from the next turn on; `default` goes back to the configured one. Returns why it is refused. */
  chooseModel(key: SessionKey, model: string): Promise<string | undefined>;
  /** All agents, and the agents that an agent may start as subagents: ids, or `*`. */
  agents(asking: AgentId): { readonly all: readonly KnownAgent[]; readonly mayStart: readonly string[] };
}
