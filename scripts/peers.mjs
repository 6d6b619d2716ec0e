// Installs the third-party peers that are too large for a development dependency, and runs what uses them.
//   npm run peers                                  all of test/peers
//   npm run peers -- test/peers/discord.test.ts    one of them; arguments after `--` are vitest's
//   npm run compare                                compares this gateway with OpenClaw's own; test/peers/README.md has its arguments
// They are installed once, outside of the repository, in OPENCLAW_PEERS_DIR (default: the user's cache). They may listen on
// all interfaces, so they and their tests run in a separate network that has only loopback.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

const root = path.dirname(import.meta.dirname);
const FILES = ["package.json", "package-lock.json"];
/** The folders that pin the versions. */
const TWIN = { name: "discord-twin", pinned: path.join(root, "test/peers/discord-twin") };
const GATEWAY = { name: "real-gateway", pinned: path.join(root, "test/peers/real-gateway/package") };
/** The field's gateway of the time when it kept conversations in files. */
const OLDER = { name: "real-gateway-in-files", pinned: path.join(root, "test/peers/real-gateway/package-in-files") };
const WAY_BACK = { name: "way-back", pinned: path.join(root, "test/peers/way-back/package") };

/** The folder for these exact versions. */
function placeFor({ name, pinned }, cache) {
  const hash = createHash("sha256");
  for (const file of FILES) hash.update(fs.readFileSync(path.join(pinned, file)));
  return path.join(cache, `${name}-${hash.digest("hex").slice(0, 12)}`);
}

function cacheFolder() {
  const { OPENCLAW_PEERS_DIR: own, XDG_CACHE_HOME: cache } = process.env;
  return own ? path.resolve(own) : path.join(cache || path.join(os.homedir(), ".cache"), "openclaw-peers");
}

/** Installs into a temporary folder and renames it at the end, so that an interrupted installation is not used. Returns the folder. */
function install(peer) {
  const place = placeFor(peer, cacheFolder());
  if (fs.existsSync(place)) return place;
  fs.mkdirSync(path.dirname(place), { recursive: true });
  const draft = fs.mkdtempSync(`${place}.`);
  try {
    for (const name of FILES) fs.copyFileSync(path.join(peer.pinned, name), path.join(draft, name));
    const status = run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: draft });
    if (status !== 0) throw new Error(`${peer.name} could not be installed`);
    fs.renameSync(draft, place);
    return place;
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

/** Runs a script with Node in the separate network. */
function runAlone(args, env = {}) {
  const isRoot = process.getuid?.() === 0;
  const alone = [isRoot ? "-n" : "-Urn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
  return run("unshare", [...alone, process.execPath, ...args], { cwd: root, env: { ...process.env, ...env } });
}

function test(args) {
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const files = args.length > 0 ? args : ["test/peers"];
  return runAlone([vitest, "run", ...files], {
    OPENCLAW_PEERS: install(TWIN),
    OPENCLAW_FIELD: programOf(GATEWAY),
    OPENCLAW_WAY_BACK: programOf(WAY_BACK),
  });
}

const programOf = (peer) => path.join(install(peer), "node_modules/openclaw/openclaw.mjs");

function compare(args) {
  const isRecorded = args.some((arg) => arg.startsWith("--recorded"));
  const real = isRecorded ? [] : ["--real", programOf(GATEWAY)];
  return runAlone(["--conditions=source", path.join(root, "test/peers/real-gateway/compare.ts"), ...real, ...args]);
}

try {
  if (process.platform !== "linux") throw new Error("the separate network needs Linux with unshare and ip");
  const [, , first, ...rest] = process.argv;
  process.exitCode = first === "--compare" ? compare(rest) : test(first === undefined ? [] : [first, ...rest]);
} catch (error) {
  console.error(`peers: ${error.message}`);
  process.exitCode = 1;
}
