import { FIELD_KEYS } from "./field-keys.ts";
import { isRecord, type KeyPath } from "../problem.ts";

/** Keys by name; a leaf allows anything below. */
type KeyTree = Map<string, KeyTree | "leaf">;

let tree: KeyTree | undefined;

/** Whether OpenClaw configs have this key, even if it has no effect here. */
export const isFieldKey = (path: KeyPath): boolean => nodeAt(path) !== undefined;

/** Whether OpenClaw's keys are known down to this one, and it is one of them. */
export const isFieldName = (path: KeyPath): boolean => {
  const above = nodeAt(path.slice(0, -1));
  return above instanceof Map && (above.has(String(path.at(-1))) || above.has("*"));
};

/** Key names of OpenClaw directly below a path. */
export function fieldKeysBelow(path: KeyPath): readonly string[] {
  const node = nodeAt(path);
  return node === undefined || node === "leaf" ? [] : [...node.keys()].filter((name) => name !== "*");
}

/** Paths below a known OpenClaw key that OpenClaw does not have either. */
export function strangersBelow(path: KeyPath, value: unknown): readonly KeyPath[] {
  if (!isFieldKey(path)) return [path];
  if (nodeAt(path) === "leaf") return [];
  return childrenOf(value).flatMap(([key, child]) => strangersBelow([...path, key], child));
}

function childrenOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  return isRecord(value) ? Object.entries(value) : [];
}

function nodeAt(path: KeyPath): KeyTree | "leaf" | undefined {
  let node: KeyTree | "leaf" | undefined = fieldTree();
  for (const segment of path) {
    if (node === "leaf" || node === undefined) return node;
    node = node.get(String(segment)) ?? node.get("*");
  }
  return node;
}

function fieldTree(): KeyTree {
  tree ??= readTree(FIELD_KEYS.match(/[^\s{}]+|[{}]/g)?.values() ?? [].values());
  return tree;
}

function readTree(tokens: Iterator<string>): KeyTree {
  const level: KeyTree = new Map();
  let last = "";
  for (let next = tokens.next(); !next.done && next.value !== "}"; next = tokens.next()) {
    if (next.value === "{") level.set(last, readTree(tokens));
    else level.set((last = next.value), "leaf");
  }
  return level;
}
