import { OpenClawError } from "../../types/errors.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { listedAgents, type ListedAgent } from "../config/keys/agent-key.ts";
import { writeConfigValues } from "../config/edit/write.ts";
import type { LoadOptions } from "../config/load.ts";
import { readConfigSource } from "../config/source.ts";
import { isRecord, valueAt, type KeyPath } from "../config/schema/problem.ts";

/** One change of the config file; an undefined value removes the key. */
export interface Edit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** Keys below an agent's entry, such as `identity.emoji`; an undefined value removes the key. */
export type AgentKeys = readonly (readonly [key: string, value: unknown])[];

const LIST: KeyPath = ["agents", "list"];
const ENTRIES: KeyPath = ["agents", "entries"];

/**
 * The config file without its secrets resolved, and its hash, on which a write of the file is based. Throws
 * CONFIG_SYNTAX.
 */
export async function readFileToEdit(options: LoadOptions): Promise<{ file: unknown; hash: string }> {
  const { value, hash } = await readConfigSource(options);
  return { file: value, hash };
}

/**
 * The edit that adds an agent in the form that the file has: to `agents.entries`, else to `agents.list` after `before`
 * other rows.
 */
function newAgent(file: unknown, id: string, entry: Readonly<Record<string, unknown>>, before: number): Edit {
  if (isRecord(valueAt(file, ENTRIES))) return { path: [...ENTRIES, id], value: entry };
  return { path: [...LIST, before], value: { id, ...entry } };
}

/** Id of the agent that exists while the file lists none. */
function unlistedAgents(file: unknown): string {
  const named = valueAt(file, ["agents", "defaults", "agentId"]);
  return typeof named === "string" && named !== "" ? named : DEFAULT_AGENT;
}

/** Ids of the agents; while the file lists none, the id of the agent that exists then. */
export function agentsIn(file: unknown): readonly string[] {
  const listed = listedAgents(file);
  return listed.length === 0 ? [unlistedAgents(file)] : listed.map(({ id }) => id);
}

/**
 * Adds an agent to the file, with the edits of `alsoChange` in the same write. The first listed agent would become the
 * default, so the agent that existed without an entry gets one before it. Throws USAGE when an agent with this id
 * exists, and as `writeConfigValues` does.
 */
export async function addAgent(
  load: LoadOptions,
  id: string,
  entry: Readonly<Record<string, unknown>>,
  alsoChange: (file: unknown) => readonly Edit[] = () => [],
): Promise<void> {
  const { file, hash } = await readFileToEdit(load);
  const listed = listedAgents(file);
  if (agentsIn(file).some((name) => isSame(name, id))) throw taken(id);
  const before = listed.length === 0 ? [newAgent(file, unlistedAgents(file), { default: true }, 0)] : [];
  const made = newAgent(file, id, entry, listed.length + before.length);
  await writeConfigValues(load, [...before, made, ...alsoChange(file)], hash);
}

/**
 * Changes keys of an agent's entry, which is made when the file lists no agents. Throws NOT_FOUND, and as
 * `writeConfigValues` does.
 */
export async function changeAgent(load: LoadOptions, id: string, keys: AgentKeys): Promise<void> {
  const { file, hash } = await readFileToEdit(load);
  await writeConfigValues(load, agentEdits(file, id, keys), hash);
}

/** The edits of `changeAgent`. Throws NOT_FOUND. */
export function agentEdits(file: unknown, id: string, keys: AgentKeys): readonly Edit[] {
  const listed = listedAgents(file);
  const found = listed.find((one) => one.id === id);
  const isUnlisted = listed.length === 0 && unlistedAgents(file) === id;
  if (!found && !isUnlisted) throw unknownAgent(id);
  const made = newAgent(file, id, { default: true }, 0);
  const path = found?.path ?? made.path;
  return [...(found ? [] : [made]), ...keys.map(([key, value]) => ({ path: [...path, ...key.split(".")], value }))];
}

/**
 * Removes an agent with its bindings, and its name from the lists of other agents. Returns how many bindings were
 * removed. Throws NOT_FOUND, USAGE for the default agent, and as `writeConfigValues` does.
 */
export async function removeAgent(load: LoadOptions, id: string): Promise<number> {
  const { file, hash } = await readFileToEdit(load);
  const listed = listedAgents(file);
  const found = listed.find((one) => one.id === id);
  if (!found && !(listed.length === 0 && unlistedAgents(file) === id)) throw unknownAgent(id);
  if (!found || id === DEFAULT_AGENT || isDefault(file, listed, found)) throw neverRemoved(id);
  const bindings = bindingsIn(file).flatMap(({ agentId }, at) => (agentId === id ? [at] : []));
  await writeConfigValues(
    load,
    [
      ...withoutName(file, id),
      ...bindings.toReversed().map((at) => ({ path: ["bindings", at], value: undefined })),
      { path: found.path, value: undefined },
    ],
    hash,
  );
  return bindings.length;
}

function isDefault(file: unknown, listed: readonly ListedAgent[], one: ListedAgent): boolean {
  const marked = listed.find(({ path }) => valueAt(file, [...path, "default"]) === true);
  const named = listed.find(({ id }) => id === valueAt(file, ["agents", "defaults", "agentId"]));
  return (marked ?? named ?? listed[0]) === one;
}

/**
 * Edits that remove an agent's id from each list of agents in the file: of subagents, `tools.agentToAgent`, webhooks
 * and broadcasts.
 */
function withoutName(file: unknown, id: string): readonly Edit[] {
  const places = [
    ["agents", "defaults", "subagents", "allowAgents"],
    ["tools", "agentToAgent", "allow"],
    ["hooks", "allowedAgentIds"],
    ...chatsIn(file).map((chat) => ["broadcast", chat]),
    ...listedAgents(file).map(({ path }) => [...path, "subagents", "allowAgents"]),
  ];
  return places.flatMap((path) => {
    const names = valueAt(file, path);
    if (!Array.isArray(names)) return [];
    const at = names.indexOf(id);
    return at < 0 ? [] : [{ path: [...path, at], value: undefined }];
  });
}

/** The chats that several agents answer. */
function chatsIn(file: unknown): readonly string[] {
  const broadcast = valueAt(file, ["broadcast"]);
  return isRecord(broadcast) ? Object.keys(broadcast) : [];
}

/** The bindings of the file, unchecked. */
export function bindingsIn(file: unknown): readonly Readonly<Record<string, unknown>>[] {
  const rows = valueAt(file, ["bindings"]);
  return Array.isArray(rows) ? rows.map((row: unknown) => (isRecord(row) ? row : {})) : [];
}

/**
 * Whether two ids are equal but for the case of letters, which session keys and file names do not distinguish
 * everywhere.
 */
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const taken = (id: string): OpenClawError =>
  new OpenClawError("USAGE", { message: `There is an agent "${id}" already.`, fix: "Give the new one another name." });

/** The error NOT_FOUND: no agent has this id. */
export const unknownAgent = (id: string): OpenClawError =>
  new OpenClawError("NOT_FOUND", { message: `There is no agent "${id}".`, fix: "See openclaw agents list." });

const neverRemoved = (id: string): OpenClawError =>
  new OpenClawError("USAGE", {
    message: `"${id}" is the agent that answers where no binding says otherwise; it cannot be removed.`,
    fix: "Make another agent the default first (default: true), or change this one. The agent main always stays.",
  });
