// Checks the types of the repository, then the declarations of the plugin SDK that a release makes, then the chat page, which has the
// browser's globals instead of Node's.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";

const root = path.dirname(import.meta.dirname);
const tsc = path.join(root, "node_modules/typescript/bin/tsc");
const page = path.join(root, "extensions/webchat/page");
const hasPage = fs.existsSync(page) && fs.readdirSync(page).some((name) => /\.tsx?$/.test(name));

const release = path.join(root, "tsconfig.release.json");

const worker = path.join(root, "extensions/webchat/worker");

for (const project of hasPage ? [root, release, page, worker] : [root, release]) {
  const run = spawnSync(process.execPath, [tsc, "--noEmit", "-p", project], { cwd: root, stdio: "inherit" });
  if (run.status !== 0) process.exitCode = 1;
}
