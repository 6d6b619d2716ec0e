import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles, outdatedFiles } from "./generated-files.ts";

async function writeFiles(root: string): Promise<void> {
  for (const [name, text] of await generatedFiles(root)) writeFileSync(join(root, name), text);
  execFileSync(join(root, "node_modules/.bin/oxfmt"), ["docs/openclaw.schema.json"], { cwd: root, stdio: "ignore" });
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../..");
  const isCheck = process.argv.includes("--check");
  const outdated = isCheck ? await outdatedFiles(root) : [];
  if (!isCheck) await writeFiles(root);
  if (outdated.length > 0) {
    process.stderr.write(`docs: out of date: ${outdated.join(", ")}. Run: npm run generate\n`);
    process.exitCode = 1;
  }
}
