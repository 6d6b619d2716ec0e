import { isRecord, type KeyPath } from "../schema/problem.ts";
import { configSchema, describeSchema } from "../schema/schema.ts";

/**
 * Options for a schema that checks one value: without `jitless` zod writes a program for each object of a schema, which
 * takes longer than that check.
 */
export const PARSED_ONCE = { jitless: true };

export interface SchemaKey {
  /** `*` for any name, `[]` for any index. */
  readonly path: readonly string[];
  readonly node: Readonly<Record<string, unknown>>;
}

let cached: readonly SchemaKey[] | undefined;
let cachedAtStart: readonly KeyPath[] | undefined;

/** Every key of the schema, in its order, parents first. */
export function schemaKeys(): readonly SchemaKey[] {
  cached ??= keysBelow(describeSchema(configSchema, true), []);
  return cached;
}

/** The keys that the gateway reads once, at its start (`atStart`). */
function keysAtStart(): readonly KeyPath[] {
  cachedAtStart ??= schemaKeys().flatMap(({ path, node }) => (node["applies"] === "at start" ? [path] : []));
  return cachedAtStart;
}

/** Whether the gateway reads this key, or a key below it, only at its start. */
export const isWaiting = (path: KeyPath): boolean =>
  keysAtStart().some((key) => isBelow(path, key) || isBelow(key, path));

const isBelow = (path: KeyPath, key: KeyPath): boolean => key.every((name, at) => path[at] === name);

/** Every key of a JSON Schema, parents first, each with its path below `path`. */
export function keysBelow(node: Readonly<Record<string, unknown>>, path: readonly string[]): SchemaKey[] {
  const named = isRecord(node["properties"]) ? Object.entries(node["properties"]) : [];
  const keys: (readonly [string, unknown])[] = [...named, ["*", node["additionalProperties"]], ["[]", node["items"]]];
  const here = keys.flatMap(([name, child]) => keysOf(child, [...path, name]));
  const branches: readonly unknown[] = Array.isArray(node["anyOf"]) ? node["anyOf"] : [];
  return [...here, ...branches.flatMap((branch) => (isRecord(branch) ? keysBelow(branch, path) : []))];
}

function keysOf(child: unknown, path: readonly string[]): SchemaKey[] {
  if (!isRecord(child) || Object.keys(child).length === 0) return [];
  return [{ path, node: child }, ...keysBelow(child, path)];
}

/** Names that the schema has right below a path. */
export function schemaKeysBelow(path: KeyPath): readonly string[] {
  return schemaKeys()
    .filter((key) => key.path.length === path.length + 1 && key.path.every((name, index) => fits(name, path[index])))
    .flatMap((key) => key.path.at(-1) ?? [])
    .filter((name) => name !== "*" && name !== "[]");
}

function fits(name: string, segment: string | number | undefined): boolean {
  if (segment === undefined || name === "*") return true;
  return typeof segment === "number" ? name === "[]" : name === segment;
}
