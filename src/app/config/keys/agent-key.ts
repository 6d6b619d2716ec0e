import { own } from "../../../utils/own.ts";
import type { KeyPath } from "../schema/problem.ts";
import type { Config } from "../schema/schema.ts";

/** Path of an agent in the config: in `agents.entries`, else in `agents.list`. */
export const pathOfAgent = ({ entries, list }: Pick<Config["agents"], "entries" | "list">, id: string): KeyPath =>
  own(entries, id) === undefined
    ? ["agents", "list", list.findIndex((entry) => entry.id === id)]
    : ["agents", "entries", id];
