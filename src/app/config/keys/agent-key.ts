import { own } from "../../../utils/own.ts";
import { isRecord, valueAt, type KeyPath } from "../schema/problem.ts";
import type { Config } from "../schema/schema.ts";

/** Path of an agent in the config: in `agents.entries`, else in `agents.list`. */
export const pathOfAgent = ({ entries, list }: Pick<Config["agents"], "entries" | "list">, id: string): KeyPath =>
  own(entries, id) === undefined
    ? ["agents", "list", list.findIndex((entry) => entry.id === id)]
    : ["agents", "entries", id];

/** An agent of a config that need not be valid. */
export interface ListedAgent {
  readonly id: string;
  readonly path: KeyPath;
  readonly entry: unknown;
}

/** The agents of `agents.list` that have an id, then those of `agents.entries`. `input` need not be valid. */
export function listedAgents(input: unknown): readonly ListedAgent[] {
  const [list, entries] = [valueAt(input, ["agents", "list"]), valueAt(input, ["agents", "entries"])];
  const rows = (Array.isArray(list) ? list : []).flatMap((entry: unknown, at): ListedAgent[] => {
    const id = valueAt(entry, ["id"]);
    return typeof id === "string" ? [{ id, path: ["agents", "list", at], entry }] : [];
  });
  const named = Object.entries(isRecord(entries) ? entries : {});
  return [...rows, ...named.map(([id, entry]): ListedAgent => ({ id, path: ["agents", "entries", id], entry }))];
}
