#!/usr/bin/env node
// Starts openclaw on a Node that can run it. This file alone has to load on older ones (16 and up).

// An imported module of Node's reads all of its exports, also those that Node makes only then: 10 ms for `node:fs`.
const own = process.getBuiltinModule ?? (await import("node:module")).createRequire(import.meta.url);
const fs = own("node:fs");
const os = own("node:os");
const path = own("node:path");
const { fileURLToPath, pathToFileURL } = own("node:url");

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const CONFIGURATION = 78;
const WRAPPED = "OPENCLAW_WRAPPED";

/**
 * The folder of the version that `openclaw update` has chosen for this state directory; undefined for this package itself. A choice counts
 * for the package that it was made with: another one, or another version of it, was installed later. The form of the file is in
 * src/app/update/versions.ts.
 */
function chosenRoot() {
  const home = homeDir();
  if (home === undefined) return undefined;
  const named = process.env.OPENCLAW_STATE_DIR || path.join(home, ".openclaw");
  const folder = path.join(path.resolve(named.replace(/^~(?=$|[/\\])/, home)), "versions");
  const file = path.join(folder, "current.json");
  let choice;
  try {
    const { uid } = fs.statSync(file);
    // Nobody else decides which program runs.
    if (process.getuid && uid !== process.getuid() && uid !== 0) return undefined;
    choice = readJson(file);
  } catch {
    return undefined;
  }
  const name = choice.use && choice.use.name;
  if (typeof name !== "string" || name !== path.basename(name) || choice.root !== root) return undefined;
  if (choice.version !== readJson(path.join(root, "package.json")).version) return undefined;
  const found = path.join(folder, name, "node_modules", "claw-gateway");
  if (fs.existsSync(path.join(found, "dist", "main.js"))) return found;
  process.stderr.write(`openclaw: ${found} is missing or incomplete: this is ${choice.version}, as it was installed\n`);
  return undefined;
}

/** Undefined for a user without `HOME` and without an entry in the system's list, as in a container. */
function homeDir() {
  if (process.env.HOME) return process.env.HOME;
  // An empty one would be the present directory; without one the home is that of the system's list.
  delete process.env.HOME;
  try {
    return os.homedir();
  } catch {
    return undefined;
  }
}

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
  const { spawn } = own("node:child_process");
  const flags = isDaemon ? DAEMON_FLAGS : [];
  const child = spawn(node, [...flags, ...process.execArgv, fileURLToPath(import.meta.url), ...args], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...(isDaemon ? daemonEnvironment() : process.env), [WRAPPED]: "1" },
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
  const { enableCompileCache, flushCompileCache } = own("node:module");
  if (process.env.NODE_COMPILE_CACHE || process.env.NODE_DISABLE_COMPILE_CACHE) return;
  const base = process.env.XDG_CACHE_HOME || path.join(homeDir(), ".cache");
  const folder = path.join(base, "openclaw");
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Without a place for it nothing is kept, and the program runs all the same.
    return;
  }
  enableCompileCache(path.join(folder, "compile"));
  // A daemon may be killed; what it compiled is worth keeping before that.
  if (args[0] === "gateway") setTimeout(() => flushCompileCache(), 5000).unref();
}

/** The command that runs for months; not `gateway status` and the like. */
const isDaemon = args[0] === "gateway" && (args[1] === undefined || args[1] === "run" || args[1].startsWith("-"));

/**
 * What a daemon needs from the start of its process: the engine and the allocator read these only then. The engine's own choice
 * lets the heap grow to several times of what is in use before it collects; docs/performance.md has what each choice costs.
 * Most flags of V8, given at the start, would make Node compile its own modules anew at each start, 50 ms: V8 uses compiled code only
 * with the flags that it was compiled with. These do not count there; the others are set when the gateway has started, in
 * src/app/gateway/lifecycle/background-tasks.ts.
 */
const DAEMON_FLAGS = [
  "--max-semi-space-size=8",
  // From 1 MiB on, V8 would collect the young objects of the start several times.
  "--min-semi-space-size=4",
  // Two cores that share the work of a short collection take more time for it than one.
  "--no-parallel-scavenge",
];
const DAEMON_VARIABLES = {
  // glibc gives each thread an arena of its own, none of which it gives back.
  MALLOC_ARENA_MAX: "2",
  // Its own value, bytes. With any value set, glibc does not raise the limits above which it gives memory back.
  MALLOC_TRIM_THRESHOLD_: "131072",
  // Syncs of transcripts wait for the disk in these threads, four by default: with a slow disk that would be the limit.
  UV_THREADPOOL_SIZE: "12",
};
/** The names of the variables that this file has added. */
const PREPARED = "OPENCLAW_PREPARED";

/** The environment of a daemon. What the operator has set stays. */
function daemonEnvironment() {
  const added = Object.entries(DAEMON_VARIABLES).filter(([name]) => process.env[name] === undefined);
  return { ...process.env, ...Object.fromEntries(added), [PREPARED]: added.map(([name]) => name).join(" ") };
}

/** Replaces this process by one with the daemon's flags, with the same id and standard streams. Returns where that cannot be done. */
function replaceProcess() {
  // A channel to the parent process would be lost.
  if (typeof process.execve !== "function" || process.channel || !fs.existsSync(process.execPath)) return;
  const script = fileURLToPath(import.meta.url);
  // A daemon that restarts has the flags already.
  const others = process.execArgv.filter((flag) => !DAEMON_FLAGS.includes(flag));
  const argv = [process.execPath, ...DAEMON_FLAGS, ...others, script, ...args];
  try {
    process.execve(process.execPath, argv, daemonEnvironment());
  } catch {
    // Windows, or a permission that this process has not: it runs on as it is.
  }
}

/** Prepares this process to be a daemon. The programs that it starts later do not get its variables. */
async function prepareDaemon() {
  if (process.env[PREPARED] === undefined) {
    replaceProcess();
    const { setFlagsFromString } = own("node:v8");
    setFlagsFromString("--optimize-for-size");
    return;
  }
  const added = process.env[PREPARED].split(" ");
  delete process.env[PREPARED];
  // The first use starts the threads.
  await fs.promises.access(root);
  for (const name of added) delete process.env[name];
}

async function start() {
  if (process.env[WRAPPED]) endWithWrapper();
  if (homeDir() === undefined)
    return refuse(
      "openclaw: this user has no home directory in the system's list of users: set HOME to one that it may write to",
    );
  const main = path.join(chosenRoot() || root, "dist", "main.js");
  if (!fs.existsSync(main)) return refuse(`openclaw: ${main} is missing: run "npm run build" in ${root}`);
  if (isDaemon) await prepareDaemon();
  await cacheCode();
  await import(pathToFileURL(main).href);
}

if (args.length === 1 && (args[0] === "--version" || args[0] === "-v")) {
  process.stdout.write(`${readJson(path.join(chosenRoot() || root, "package.json")).version}\n`);
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
