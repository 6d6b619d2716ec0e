import { fields, list, shortNameIn, nonEmpty } from "./json.ts";

/** An agent of the gateway. */
export interface AgentRow {
  readonly id: string;
  /** Name of the agent for people, with its sign. */
  readonly title: string;
}

/** Reads `agents.list`, the default agent first. */
export function readAgents(value: unknown): readonly AgentRow[] {
  const answer = fields(value);
  const rows = list(answer["agents"]).flatMap((item): readonly AgentRow[] => {
    const row = fields(item);
    const id = nonEmpty(row["id"]);
    if (id === undefined) return [];
    const identity = fields(row["identity"]);
    const name = shortNameIn(identity["name"]) ?? shortNameIn(row["name"]) ?? id;
    return [{ id, title: [shortNameIn(identity["emoji"]), name].filter((part) => part !== undefined).join(" ") }];
  });
  const isDefault = (row: AgentRow): number => Number(row.id === answer["defaultId"]);
  return rows.toSorted((one, other) => isDefault(other) - isDefault(one));
}
