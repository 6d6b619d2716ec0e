// Fails when the generated parts of the docs differ from what the code would generate.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";

const root = path.dirname(import.meta.dirname);
const generate = path.join(root, "scripts/docs/generate.ts");

if (fs.existsSync(generate)) {
  const args = ["--conditions=source", generate, "--check"];
  const run = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} else {
  console.log("docs: nothing is generated yet");
}
