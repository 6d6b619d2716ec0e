// Installs the third-party peers that are too large for a development dependency, and runs the tests that use them.
//   npm run peers                                  all of test/peers
//   npm run peers -- test/peers/discord.test.ts    one of them; arguments after `--` are vitest's
// They are installed once, outside of the repository, in OPENCLAW_PEERS_DIR (default: the user's cache). They may listen on
// all interfaces, so they and their tests run in a separate network that has only loopback.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

const root = path.dirname(import.meta.dirname);
const pinned = path.join(root, "test/peers/discord-twin");
const FILES = ["package.json", "package-lock.json"];

/** The folder for these exact versions. */
function placeFor(cache) {
  const hash = createHash("sha256");
  for (const name of FILES) hash.update(fs.readFileSync(path.join(pinned, name)));
  return path.join(cache, `discord-twin-${hash.digest("hex").slice(0, 12)}`);
}

function cacheFolder() {
  const { OPENCLAW_PEERS_DIR: own, XDG_CACHE_HOME: cache } = process.env;
  return own ? path.resolve(own) : path.join(cache || path.join(os.homedir(), ".cache"), "openclaw-peers");
}

/** Installs into a temporary folder and renames it at the end, so that an interrupted installation is not used. */
function install(place) {
  if (fs.existsSync(place)) return;
  fs.mkdirSync(path.dirname(place), { recursive: true });
  const draft = fs.mkdtempSync(`${place}.`);
  try {
    for (const name of FILES) fs.copyFileSync(path.join(pinned, name), path.join(draft, name));
    const status = run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: draft });
    if (status !== 0) throw new Error("the peers could not be installed");
    fs.renameSync(draft, place);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}

/** The exit code; throws when the program cannot be started. */
function run(command, args, options) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit", ...options });
  if (error) throw new Error(`${command} cannot be run: ${error.message}`);
  return status ?? 1;
}

function test(place, args) {
  const vitest = [process.execPath, path.join(root, "node_modules/vitest/vitest.mjs"), "run", ...args];
  const isRoot = process.getuid?.() === 0;
  const alone = [isRoot ? "-n" : "-Urn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
  return run("unshare", [...alone, ...vitest], { cwd: root, env: { ...process.env, OPENCLAW_PEERS: place } });
}

try {
  if (process.platform !== "linux") throw new Error("the separate network needs Linux with unshare and ip");
  const place = placeFor(cacheFolder());
  install(place);
  const [, , ...args] = process.argv;
  process.exitCode = test(place, args.length > 0 ? args : ["test/peers"]);
} catch (error) {
  console.error(`peers: ${error.message}`);
  process.exitCode = 1;
}
