import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { schemaKeys } from "../config/schema-keys.ts";
import { jsonSchema } from "../config/schema.ts";
import { configExample } from "./config-example.ts";
import { configTable } from "./config-table.ts";

/** The files that come from the schema, by their place in the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/config.md", configTable(schemaKeys())],
    ["docs/openclaw.schema.json", `${JSON.stringify(jsonSchema(), null, 2)}\n`],
    ["openclaw.json.example", configExample(schemaKeys())],
  ]);
}

/** Files that differ from what the schema says; layout of JSON does not count. */
export function driftedFiles(root: string): readonly string[] {
  const same = (name: string, text: string) => (name.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text);
  return [...generatedFiles()].flatMap(([name, text]) =>
    same(name, readOr(join(root, name))) === same(name, text) ? [] : [name],
  );
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not generated yet: differs from everything.
    return "null";
  }
}

function writeFiles(root: string): void {
  for (const [name, text] of generatedFiles()) writeFileSync(join(root, name), text);
  execFileSync(join(root, "node_modules/.bin/oxfmt"), ["docs/openclaw.schema.json"], { cwd: root, stdio: "ignore" });
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../../..");
  const drifted = driftedFiles(root);
  if (!process.argv.includes("--check")) writeFiles(root);
  else if (drifted.length > 0) {
    process.stderr.write(`docs: out of date: ${drifted.join(", ")}. Run: node src/app/docs/generate.ts\n`);
    process.exitCode = 1;
  }
}
