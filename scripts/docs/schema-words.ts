import { isRecord } from "../../src/app/config/schema/problem.ts";
import type { SchemaKey } from "../../src/app/config/keys/schema-keys.ts";

type Node = SchemaKey["node"];

/** `agents.list[].id`, `channels.<name>.enabled`. */
export const showKey = (path: readonly string[]): string =>
  path
    .map((name) => (name === "*" ? "<name>" : name))
    .join(".")
    .replaceAll(".[]", "[]");

/** The type of a key in Markdown: `"a"` or `"b"`, integer, list of string. */
export function showType(node: Node): string {
  const words = typeWords(node);
  return [...new Set(words)].join(" or ");
}

function typeWords(node: Node): string[] {
  const { type, anyOf, items } = node;
  const values: readonly unknown[] = Array.isArray(node["enum"]) ? node["enum"] : [];
  if (values.length > 0) return values.map((value) => `\`${JSON.stringify(value)}\``);
  if ("const" in node) return [`\`${JSON.stringify(node["const"])}\``];
  if (Array.isArray(anyOf)) return anyOf.flatMap((branch) => (isRecord(branch) ? typeWords(branch) : []));
  if (type === "array") return [`list of ${isRecord(items) ? showType(items) : "anything"}`];
  if (type === "object" && isSecretShape(node)) return ["secret reference"];
  return [typeof type === "string" ? type : "anything"];
}

const isSecretShape = (node: Node): boolean => isRecord(node["properties"]) && isRecord(node["properties"]["source"]);

/** The parts of a reference are described once, in the text above the tables. */
export const isInsideSecret = (path: readonly string[], keys: readonly SchemaKey[]): boolean =>
  keys.some(
    (key) =>
      key.path.length === path.length - 1 &&
      key.path.every((name, index) => name === path[index]) &&
      hasSecretBranch(key.node),
  );

function hasSecretBranch(node: Node): boolean {
  const branches: readonly unknown[] = Array.isArray(node["anyOf"]) ? node["anyOf"] : [node];
  return branches.some((branch) => isRecord(branch) && isSecretShape(branch));
}

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Whether a key only groups others. */
export const isSection = (node: Node): boolean =>
  node["type"] === "object" && isRecord(node["properties"]) && !isSecretShape(node);
