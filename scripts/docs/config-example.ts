import type { SchemaKey } from "../../src/app/config/keys/schema-keys.ts";
import { isSection, textOf } from "./schema-words.ts";

const HEAD = `// Copy this file to ~/.openclaw/openclaw.json and remove the slashes before the keys that you want to change.
// Every key is optional. Values are the defaults, or examples for keys without a default. docs/reference/config.md explains every key.
`;

/** `openclaw.json.example`: loads unchanged, and shows every key that can be set. */
export function configExample(keys: readonly SchemaKey[]): string {
  return `${HEAD}{\n${objectLines([], keys).join("\n")}\n}\n`;
}

function objectLines(parent: readonly string[], keys: readonly SchemaKey[]): string[] {
  const children = keys.filter(
    ({ path }) =>
      path.length === parent.length + 1 &&
      parent.every((name, index) => path[index] === name) &&
      !/^(\*|\[\])$/.test(path.at(-1) ?? ""),
  );
  return children.flatMap((key) => keyLines(key, keys));
}

function keyLines(key: SchemaKey, keys: readonly SchemaKey[]): string[] {
  const indent = "  ".repeat(key.path.length);
  const name = key.path.at(-1) ?? "";
  const comment = `${indent}// ${textOf(key.node["description"])}`;
  if (isSection(key.node)) return [comment, `${indent}${name}: {`, ...objectLines(key.path, keys), `${indent}},`];
  const value = exampleOf(key.node);
  if (value === undefined) return [];
  const [first = "", ...more] = JSON.stringify(value, null, 2).split("\n");
  return [comment, `${indent}// ${name}: ${[first, ...more.map((line) => `${indent}// ${line}`)].join("\n")},`];
}

const exampleOf = (node: SchemaKey["node"]): unknown => node["example"] ?? node["default"];
