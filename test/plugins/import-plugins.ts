/** A program: loads the plugins of these folders as the gateway does, and prints what each says when it is registered. */
import { sdkUrls } from "../../src/app/plugins/sdk-urls.ts";
import { importEntry } from "../../src/plugins/load/import-entry.ts";
import { resolveSdk } from "../../src/plugins/load/sdk-resolution.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";

resolveSdk(sdkUrls());
const said: unknown[] = [];
for (const folder of process.argv.slice(2)) {
  const found = await readPlugin(folder, "config");
  if (found.kind !== "found") throw new Error(`${folder}: ${found.kind}`);
  const imported = await importEntry(found.plugin);
  if (imported.kind === "failed") said.push(imported.why);
  else imported.definition.register({ say: (word: unknown) => said.push(word) });
}
process.stdout.write(JSON.stringify(said));
