#!/usr/bin/env node
// Starts openclaw on a Node that can run it. This file alone has to load on older ones (16 and up).
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const CONFIGURATION = 78;
const WRAPPED = "OPENCLAW_WRAPPED";

const runs = (version) => {
  const [major, minor] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
};

const readJson = (file) => JSON.parse(fs.readFileSync(file, "utf8"));

function refuse(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = CONFIGURATION;
}

/** A newer Node that npm put beside this package, or in a folder above it. */
function findNode() {
  const name = `${process.platform}-${process.arch}`;
  const binary = process.platform === "win32" ? "node.exe" : "node";
  for (let dir = root; ; dir = path.dirname(dir)) {
    for (const folder of [`node-${name}`, `node-bin-${name}`]) {
      const found = path.join(dir, "node_modules", folder);
      const file = path.join(found, "bin", binary);
      if (fs.existsSync(file) && runs(readJson(path.join(found, "package.json")).version)) return file;
    }
    if (dir === path.dirname(dir)) return undefined;
  }
}

async function runAgain(node) {
  const { spawn } = await import("node:child_process");
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...args], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [WRAPPED]: "1" },
  });
  // A terminal sends its own signals to both processes; twice would mean "at once" to the child.
  const fromTerminal = (signal) => signal !== "SIGTERM" && process.stdin.isTTY === true;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
    process.on(signal, () => {
      if (!fromTerminal(signal)) child.kill(signal);
    });
  }
  child.on("error", (error) => refuse(`openclaw: ${node} cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (os.constants.signals[signal] ?? 0)));
}

/** Killing the wrapper, however hard, ends this process too: the channel to it closes. */
function endWithWrapper() {
  delete process.env[WRAPPED];
  if (!process.channel) return;
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  process.channel.unref();
}

/** Compiled code is kept in a folder of the user's own, not in a temporary one that everybody may write. */
async function cacheCode() {
  const { enableCompileCache, flushCompileCache } = await import("node:module");
  if (process.env.NODE_COMPILE_CACHE || process.env.NODE_DISABLE_COMPILE_CACHE) return;
  const base = process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  const folder = path.join(base, "openclaw");
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Without a place for it nothing is kept, and the program runs all the same.
    return;
  }
  enableCompileCache(path.join(folder, "compile"));
  // A daemon may be killed; what it compiled is worth keeping before that.
  if (args[0] === "gateway") setTimeout(() => flushCompileCache(), 20_000).unref();
}

/** Syncs of transcripts wait for the disk in these threads, four by default: with a slow disk that would be the limit. */
function allowManySyncs() {
  process.env.UV_THREADPOOL_SIZE ??= "12";
}

/**
 * A daemon runs for months: memory that stays flat is worth more to it than the last bit of speed. Measured over 1,500
 * messages: 148 MiB resident with it, 328 MiB and growing without, at the same CPU time per message.
 */
async function keepMemoryFlat() {
  const { setFlagsFromString } = await import("node:v8");
  for (const f of (process.env.XFLAGS ?? "--optimize-for-size").split(" ").filter(Boolean)) setFlagsFromString(f);
}

async function start() {
  if (process.env[WRAPPED]) endWithWrapper();
  const main = path.join(root, "dist", "main.js");
  if (!fs.existsSync(main)) return refuse(`openclaw: ${main} is missing: run "npm run build" in ${root}`);
  await cacheCode();
  if (args[0] === "gateway") {
    allowManySyncs();
    await keepMemoryFlat();
  }
  await import(pathToFileURL(main).href);
}

if (args.length === 1 && (args[0] === "--version" || args[0] === "-v")) {
  process.stdout.write(`${readJson(path.join(root, "package.json")).version}\n`);
} else if (runs(process.versions.node)) {
  await start();
} else {
  const node = findNode();
  if (node) await runAgain(node);
  else
    refuse(
      "error NODE_TOO_OLD: openclaw needs Node 22.19 or newer. " +
        `This is ${process.version}, and there is no newer one in node_modules.\n` +
        "fix: Install Node 24 (https://nodejs.org) and run the command again.",
    );
}
