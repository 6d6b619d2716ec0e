import { agentId, type AgentId } from "../../types/ids.ts";
import type { AgentFilter } from "../../types/run/agent-filter.ts";
import type { Params, Row } from "./sqlite.ts";

/** A condition on a column with the id of an agent; undefined when all agents are wanted. */
export function agentTerm({ agentId, orUnnamed }: AgentFilter, column: string): readonly [string, Params] | undefined {
  if (agentId === undefined) return undefined;
  return [orUnnamed === true ? `(${column} = ? OR ${column} IS NULL)` : `${column} = ?`, [agentId]];
}

/** The agent of a row that has one. */
export function agentIn(row: Row): { readonly agentId?: AgentId } {
  const id = textOr(row, "agent");
  return id === undefined ? {} : { agentId: agentId(id) };
}

/** A column that is never null. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new Error(`journal column ${column} holds no text`);
  return value;
}

export function textOr(row: Row, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}

export function count(row: Row | undefined, column: string): number {
  const value = row?.[column];
  return typeof value === "number" ? value : Number(value ?? 0);
}

export function countOr(row: Row, column: string): number | undefined {
  return row[column] === null ? undefined : count(row, column);
}

/** A column with JSON that only this store writes, from a value of type T. */
export function json<T>(row: Row, column: string): T {
  const value: unknown = JSON.parse(text(row, column));
  if (!isOurs<T>(value)) throw new Error(`journal column ${column} holds no JSON`);
  return value;
}

/** A column with JSON of an unknown shape: undefined when it is empty, and the text when it is no JSON. */
export function anyJson(row: Row, column: string): unknown {
  const value = textOr(row, column);
  if (value === undefined) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

export function jsonOr<T>(row: Row, column: string): T | undefined {
  return textOr(row, column) === undefined ? undefined : json<T>(row, column);
}

/** A column whose values the schema's CHECK restricts. */
export function word<T extends string>(row: Row, column: string, words: readonly T[]): T {
  const found = words.find((one) => one === row[column]);
  if (found === undefined) throw new Error(`journal column ${column} holds an unknown word`);
  return found;
}

/** The same for a column that may be empty. */
export function wordOr<T extends string>(row: Row, column: string, words: readonly T[]): T | undefined {
  return textOr(row, column) === undefined ? undefined : word(row, column, words);
}

function isOurs<T>(value: unknown): value is T {
  return value !== undefined;
}
