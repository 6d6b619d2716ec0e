/** Rows of one agent; of all when empty. */
export interface AgentFilter {
  readonly agentId?: string | undefined;
  /** Rows that name no agent are this one's too: those of older versions, and of jobs of the default agent. */
  readonly orUnnamed?: boolean | undefined;
}

/** Rows of an agent, of all when undefined. Pure. */
export const ofAgent = (agentId: string | undefined, defaultAgent: string): AgentFilter =>
  agentId === undefined ? {} : { agentId, orUnnamed: agentId === defaultAgent };
