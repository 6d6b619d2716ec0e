/** Rows of one agent; of all when empty. */
export interface AgentFilter {
  readonly agentId?: string | undefined;
  /** Includes rows that name no agent: those of older versions, and of jobs of the default agent. */
  readonly orUnnamed?: boolean | undefined;
}

/** Rows of an agent, of all when undefined. Pure. */
export const ofAgent = (agentId: string | undefined, defaultAgent: string): AgentFilter =>
  agentId === undefined ? {} : { agentId, orUnnamed: agentId === defaultAgent };
