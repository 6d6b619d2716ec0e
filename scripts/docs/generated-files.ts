import { readFileSync } from "node:fs";
import { join } from "node:path";
import { schemaKeys } from "../../src/app/config/keys/schema-keys.ts";
import { configSchema, jsonSchema } from "../../src/app/config/schema/schema.ts";
import { builtInTools } from "./built-in-tools.ts";
import { migrationGuide } from "./harmless-table.ts";
import { toolTable } from "./tool-table.ts";
import { bundledList } from "./bundled-list.ts";
import { channelKeys } from "./channel-schemas.ts";
import { commandPage } from "./command-table.ts";
import { configExample } from "./config-example.ts";
import { configTable } from "./config-table.ts";
import { pageTexts } from "./page-texts.ts";

/** The files that come from the schema, the table of commands, the schemas of the tools, the texts of the page, and the folders of extensions, by their place in the repository. */
export async function generatedFiles(root: string): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/reference/config.md", configTable([...schemaKeys(), ...(await channelKeys(root))])],
    ["docs/reference/commands.md", commandPage()],
    ["docs/guides/migration.md", migrationGuide(root)],
    ["docs/tools.md", toolTable(builtInTools(configSchema.parse({}).browser))],
    ["docs/openclaw.schema.json", `${JSON.stringify(jsonSchema(), null, 2)}\n`],
    ["extensions/webchat/page/words/en.json", pageTexts(root)],
    ["openclaw.json.example", configExample(schemaKeys())],
    ["src/app/contributions/bundled.ts", bundledList(root)],
  ]);
}

/** Names of the files that differ from what would be generated. The layout of JSON does not count. */
export async function outdatedFiles(root: string): Promise<readonly string[]> {
  const same = (name: string, text: string) => (name.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text);
  const files = [...(await generatedFiles(root))];
  return files.flatMap(([name, text]) => (same(name, readOr(join(root, name))) === same(name, text) ? [] : [name]));
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A file that does not exist yet differs from every text.
    return "null";
  }
}
