import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { schemaKeys } from "../config/keys/schema-keys.ts";
import { jsonSchema } from "../config/schema.ts";
import { bundledList } from "./bundled-list.ts";
import { channelKeys } from "./channel-schemas.ts";
import { configExample } from "./config-example.ts";
import { configTable } from "./config-table.ts";

/** The files that come from the schema and from the folders of extensions, by their place in the repository. */
async function generatedFiles(root: string): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/reference/config.md", configTable([...schemaKeys(), ...(await channelKeys(root))])],
    ["docs/openclaw.schema.json", `${JSON.stringify(jsonSchema(), null, 2)}\n`],
    ["openclaw.json.example", configExample(schemaKeys())],
    ["src/app/contributions/bundled.ts", bundledList(root)],
  ]);
}

/** Files that differ from what the schema says; layout of JSON does not count. */
export async function driftedFiles(root: string): Promise<readonly string[]> {
  const same = (name: string, text: string) => (name.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text);
  const files = [...(await generatedFiles(root))];
  return files.flatMap(([name, text]) => (same(name, readOr(join(root, name))) === same(name, text) ? [] : [name]));
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not generated yet: differs from everything.
    return "null";
  }
}

async function writeFiles(root: string): Promise<void> {
  for (const [name, text] of await generatedFiles(root)) writeFileSync(join(root, name), text);
  execFileSync(join(root, "node_modules/.bin/oxfmt"), ["docs/openclaw.schema.json"], { cwd: root, stdio: "ignore" });
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../../..");
  const isCheck = process.argv.includes("--check");
  const drifted = isCheck ? await driftedFiles(root) : [];
  if (!isCheck) await writeFiles(root);
  if (drifted.length > 0) {
    process.stderr.write(
      `docs: out of date: ${drifted.join(", ")}. Run: node --conditions=source src/app/docs/generate.ts\n`,
    );
    process.exitCode = 1;
  }
}
