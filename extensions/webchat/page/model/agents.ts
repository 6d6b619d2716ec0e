import type { Answers } from "openclaw/plugin-sdk/answers";
import { shortNameIn } from "./json.ts";

/** An agent of the gateway. */
export interface AgentRow {
  readonly id: string;
  /** Name of the agent for people, with its sign. */
  readonly title: string;
}

/** Reads `agents.list`, the default agent first. */
export function readAgents({ agents, defaultId }: Answers["agents.list"]): readonly AgentRow[] {
  const rows = agents.map(({ id, name, identity = {} }) => {
    const shown = shortNameIn(identity.name) ?? shortNameIn(name) ?? id;
    return { id, title: [shortNameIn(identity.emoji), shown].filter((part) => part !== undefined).join(" ") };
  });
  const isDefault = (row: AgentRow): number => Number(row.id === defaultId);
  return rows.toSorted((one, other) => isDefault(other) - isDefault(one));
}
