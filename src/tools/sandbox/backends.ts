import { stat, lstat, readdir, statfs } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Backends, CommandEnd, ExecBackend, FileBackend, RunningCommand } from "../../types/run/backend.ts";
import { isContainer } from "../../types/sandbox.ts";
import { hostBackends, hostExec, hostFiles, type HostOptions } from "../host/host.ts";
import { memoryDirs } from "./bwrap.ts";
import { folderOf, openFolder } from "./folders.ts";
import {
  commandAccess,
  FOLDER_VARIABLE,
  isIsolated,
  sandboxLauncher,
  unusableText,
  workspaceInside,
  writableBinds,
  writableIn,
  type SandboxPlace,
} from "./launcher.ts";
import { realOf } from "../../utils/real-path.ts";
import { SandboxWatch } from "./watch.ts";
import { unlessMissing, errorCode } from "../../utils/missing.ts";
import { GUARDED } from "../host/guarded.ts";
import type { Dirent } from "node:fs";
import { memoryOf, sharedOfMachine, treeOf, unnamedBytes, wholeMemoryOf } from "./totals/process-tree.ts";

export interface SandboxOptions {
  readonly host: HostOptions;
  readonly place: Pick<SandboxPlace, "settings" | "machine" | "owner" | "home" | "warn">;
  /** The run's tools in the sandbox; the other tools work on the machine. */
  readonly confined: { readonly commands: boolean; readonly files: boolean };
}

/** The backends of a run whose commands, or file tools, or both, may be in a sandbox. */
export function sandboxBackends({ host, place, confined }: SandboxOptions): Backends {
  if (!confined.commands && !confined.files) return hostBackends(host);
  const whole = placeOf(host, place);
  const inside = hostBackends(insideOptions(host, whole));
  return {
    files: confined.files ? sandboxFiles(inside.files, whole) : hostFiles(host),
    exec: confined.commands ? sandboxExec(inside, whole) : hostExec(host),
  };
}

function placeOf({ settings, rights, deniedPaths, readablePaths = [] }: HostOptions, place: SandboxOptions["place"]) {
  const all = [...readablePaths, ...settings.exec.pathPrepend];
  // A guest sees the received files of its own conversation only.
  const readable = rights === "owner" ? all : all.filter((path) => path !== rights.received.dir);
  return {
    ...place,
    rights,
    workspace: settings.workspace,
    hidden: [...deniedPaths, ...(rights === "owner" ? [] : rights.notes)],
    readable,
  };
}

/**
 * Options that keep file tools within the view of commands: the workspace or the folder in its place, and files that
 * prompts refer to.
 */
function insideOptions(host: HostOptions, place: SandboxPlace): HostOptions {
  const { settings } = host;
  return {
    ...host,
    settings: {
      ...settings,
      workspace: workspaceInside(place),
      tools: { ...settings.tools, workspaceOnly: true },
    },
    readablePaths: [...(host.readablePaths ?? []), folderOf(place.settings, place.owner)],
    launcher: sandboxLauncher(place),
  };
}

/** Makes the sandbox's folder. Rejects where the sandbox does not work. */
async function ready({ settings, machine, owner }: SandboxPlace): Promise<void> {
  const probe = await machine.probe(settings);
  if (!probe.ok) throw new Error(unusableText(probe));
  await openFolder(settings, owner, Date.now());
}

function mustWrite(mode: "read" | "write", { settings }: SandboxPlace): void {
  if (mode === "write" && settings.workspaceAccess === "ro")
    throw new Error(
      "The workspace is read-only in this session (agents.defaults.sandbox.workspaceAccess): nothing was written.",
    );
}

function sandboxFiles(files: FileBackend, place: SandboxPlace): FileBackend {
  const workspace = workspaceInside(place);
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    await ready(place);
    return work();
  };
  const confined: FileBackend = {
    locate: (path, _workspace, mode) =>
      at(async () => {
        mustWrite(mode, place);
        const found = await files.locate(path, workspace, mode);
        if (mode === "write") await mustNotSteerGit(found, workspace);
        return found;
      }),
    open: (path) => at(() => files.open(path, workspace)),
    replace: (file) =>
      at(async () => {
        mustWrite("write", place);
        await mustNotSteerGit(await files.locate(file.path, workspace, "write"), workspace);
        return files.replace(file, workspace);
      }),
    exists: (path) => at(() => files.exists(path, workspace)),
    create: (file) =>
      at(async () => {
        mustWrite("write", place);
        await mustNotSteerGit(await files.locate(file.path, workspace, "write"), workspace);
        return files.create(file, workspace);
      }),
    remove: (path) =>
      at(async () => {
        mustWrite("write", place);
        return files.remove(path, workspace);
      }),
    confined: () => confined,
    shapesTurns: (path) => at(() => files.shapesTurns(path, workspace)),
    keep: (text) => at(() => files.keep(text)),
    list: (path, _workspace, bounds) => at(() => files.list(path, workspace, bounds)),
    findFiles: (query, scope, take) => at(() => files.findFiles(query, { ...scope, workspace }, take)),
    searchText: (query, scope, take) => at(() => files.searchText(query, { ...scope, workspace }, take)),
  };
  return confined;
}

function sandboxExec({ exec, files }: Backends, place: SandboxPlace): ExecBackend {
  const workspace = workspaceInside(place);
  const own = () => Promise.all(writableIn(place).map(realOf));
  return {
    isSandbox: true,
    isIsolated: () => isIsolated(place),
    writesWorkspace: commandAccess(place.settings, place.rights) === "rw",
    async writable() {
      return [...(await own()), ...(await Promise.all(bindsOf(place).map(realOf)))];
    },
    note: noteFor(place),
    async directory(path) {
      await ready(place);
      await files.locate(path, workspace, "read");
      return exec.directory(path, workspace);
    },
    filesOf: (command, { cwd }) => exec.filesOf(command, { cwd, workspace }),
    async start(line) {
      const roots = await own();
      const [watch, measure] = await Promise.all([
        SandboxWatch.begin(roots, place.warn ?? (() => {})),
        Meter.before({
          limits: place.settings.bwrap,
          roots,
          memoryDirs: memoryDirs(place.home),
          countsProcesses: countsProcesses(place),
        }),
      ]);
      try {
        const running = await exec.start(line);
        return { ...running, ended: checked(running.ended, watch, measure(running)) };
      } catch (error) {
        await watch.end();
        throw error;
      }
    },
  };
}

/** Directories that containers can write in addition. */
function bindsOf({ settings, machine }: SandboxPlace): readonly string[] {
  const probe = machine.known(settings);
  return probe?.ok === true && isContainer(probe.facts.backend) ? writableBinds(settings.docker) : [];
}

async function checked(ended: RunningCommand["ended"], watch: SandboxWatch, meter: Meter): Promise<CommandEnd> {
  const end = await ended;
  const notes = [end.note, await meter.end(), await watch.end()].filter((note) => note !== undefined);
  return notes.length === 0 ? end : { ...end, note: notes.join(" ") };
}

/** Whether the gateway counts the processes. An engine limits processes and memory by itself, where it can. */
function countsProcesses({ settings, machine }: SandboxPlace): boolean {
  const probe = machine.known(settings);
  if (probe?.ok !== true) return false;
  return probe.facts.backend === "bwrap" || ("holdsLimits" in probe.facts && !probe.facts.holdsLimits);
}

/**
 * Facts about the sandbox for the model. The text names no folder of one session: providers cache the common beginning
 * of all sessions' requests.
 */
function noteFor({ settings, rights, workspace }: SandboxPlace): string {
  const { network } = settings.bwrap;
  const places = {
    none: "They begin in a folder of their own (pwd shows its path); the agent's workspace is not there.",
    ro:
      rights === "owner"
        ? `They can read the workspace (${workspace}), and write only in the folder $${FOLDER_VARIABLE}.`
        : `They can read a copy of the workspace (${workspace}), as it is when the command starts and without private notes, repositories and archives, and write only in the folder $${FOLDER_VARIABLE}.`,
    rw: `They can read and write the workspace (${workspace}).`,
  };
  return [
    "Commands run in a sandbox.",
    places[commandAccess(settings, rights)],
    "/tmp and the home directory are empty at the start of each command and vanish with it.",
    network === "none" ? "There is no network." : "",
    "Programs in the background end with the command.",
  ]
    .filter((text) => text !== "")
    .join(" ");
}

/** Files of a repository that Git obeys. */
const SETTINGS = ["config", "config.worktree", "commondir"];

/**
 * Rejects with a text for the model when a file tool of a sandboxed session would write a file that programs outside
 * obey. `real` has no links. The check leaves a gap while a command changes directories; such a change in a repository
 * is found at the command's end.
 */
async function mustNotSteerGit(real: string, workspace: string): Promise<void> {
  const steps = relative(await realOf(workspace), real).split(sep);
  if (!steps.includes(".git") && !GUARDED.includes(steps[0] ?? "") && !(await isOfRepository(real))) return;
  throw new Error(
    `${real} was not written: programs outside the sandbox obey it (Git, shells or editors). The user can write it.`,
  );
}

/**
 * Whether a file is a setting beside a repository's `HEAD`, one of its hooks, or the `HEAD` that would make a
 * repository of the directory.
 */
async function isOfRepository(real: string): Promise<boolean> {
  const dir = dirname(real);
  const has = async (place: string, name: string) => (await unlessMissing(stat(join(place, name)))) !== undefined;
  if (SETTINGS.includes(basename(real))) return has(dir, "HEAD");
  if (basename(real) === "HEAD") return (await Promise.all(SETTINGS.map((name) => has(dir, name)))).includes(true);
  return basename(dir) === "hooks" && has(dirname(dir), "HEAD");
}

/** Limits of all processes of a command together. */
interface Totals {
  readonly processes: number;
  readonly totalMemoryMb: number;
  readonly totalWriteMb: number;
}

interface MeterOptions {
  readonly limits: Totals;
  /** Directories that the command may write, without links. */
  readonly roots: readonly string[];
  /** Directories of the command's sandbox that are in memory. */
  readonly memoryDirs: readonly string[];
  /** True when the meter counts processes and their memory; else the engine limits these. */
  readonly countsProcesses: boolean;
}

/** Milliseconds between two looks at a command. */
const EVERY_MS = 250;
/** Milliseconds until files are counted again after other programs were found to have filled the disk. */
const RECOUNT_MS = 10_000;
const MIB = 1_048_576;
const BLOCK = 512;
/** Milliseconds, up to a tick of the kernel, by which the clock of files is behind. */
const CLOCK_MS = 100;
/** Most directories in which changed files are counted. */
const MOST_DIRECTORIES = 20_000;

type Command = Pick<RunningCommand, "pid" | "end" | "processes">;

/**
 * Number of the sandbox's own processes: the shell that opens the filter becomes bubblewrap, which has a second process
 * inside.
 */
const OWN = 2;

/** State of the machine before a command's start. */
interface Before {
  /** Free bytes of the disk of each directory. */
  readonly free: ReadonlyMap<string, number>;
  /** Bytes of shared memory. */
  readonly shared: number;
}

/**
 * Measures a command's processes together four times a second, and ends a command that is over a limit. The kernel
 * limits single processes and files; it adds them up only in control groups, which most gateways may not make.
 */
class Meter {
  readonly #command: Command;
  readonly #options: MeterOptions;
  readonly #before: Before;
  readonly #startedAt: number;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #recountAt = 0;
  #over: string | undefined;

  private constructor(command: Command, options: MeterOptions, before: Before) {
    this.#command = command;
    this.#options = options;
    this.#before = before;
    this.#startedAt = Date.now();
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    }, EVERY_MS);
    this.#timer.unref();
  }

  /**
   * Called before the command's start. Resolves with a function that starts the meter once the command runs. Never
   * rejects.
   */
  static async before(options: MeterOptions): Promise<(command: Command) => Meter> {
    const [free, shared] = await Promise.all([freeIn(options.roots), sharedOfMachine()]);
    return (command) => new Meter(command, options, { free, shared });
  }

  /**
   * Called when the command has ended. Resolves with the limit that the command was ended for, in a sentence for the
   * model; undefined when there is none. Never rejects.
   */
  async end(): Promise<string | undefined> {
    clearInterval(this.#timer);
    await this.#looking;
    return this.#over;
  }

  async #look(): Promise<void> {
    if (this.#over !== undefined) return;
    const { limits, countsProcesses } = this.#options;
    const { pid, processes } = this.#command;
    const tree = () => processes?.() ?? treeOf(pid, limits.processes + OWN + 1);
    const pids = countsProcesses ? await tree() : [];
    const over = (await this.#whyTooBig(pids)) ?? (await this.#whyTooMuch(pids));
    if (over === undefined) return;
    this.#over = over;
    this.#command.end("limit");
  }

  /**
   * The exceeded limit of processes or memory; undefined when there is none. The exact sum, with shared memory and
   * files in memory, is taken only once the rough sum is over the limit, which counts all growth of the machine's
   * shared memory.
   */
  async #whyTooBig(pids: readonly number[]): Promise<string | undefined> {
    const { limits, memoryDirs } = this.#options;
    const { processes, totalMemoryMb } = limits;
    if (pids.length > processes + OWN)
      return `It had more than ${processes} processes (agents.defaults.sandbox.bwrap.processes)`;
    const most = totalMemoryMb * MIB;
    const shared = Math.max(0, (await sharedOfMachine()) - this.#before.shared);
    if ((await memoryOf(pids)) + shared <= most || (await wholeMemoryOf(pids, memoryDirs)) <= most) return undefined;
    return `It took more than ${totalMemoryMb} MiB of memory in all (agents.defaults.sandbox.bwrap.totalMemoryMb)`;
  }

  /**
   * The exceeded limit of written bytes; undefined when there is none. Files are counted only once the disk has lost as
   * many bytes, whoever wrote them.
   */
  async #whyTooMuch(pids: readonly number[]): Promise<string | undefined> {
    const { limits, roots } = this.#options;
    const most = limits.totalWriteMb * MIB;
    const now = await freeIn(roots);
    const lost = [...now].map(([root, free]) => (this.#before.free.get(root) ?? free) - free);
    if (Math.max(0, ...lost) <= most || Date.now() < this.#recountAt) return undefined;
    const devices = new Set((await Promise.all(roots.map(deviceOf))).flatMap((dev) => dev ?? []));
    const elsewhere = (await this.#command.processes?.()) ?? [];
    const unnamed = await unnamedBytes([...pids, ...elsewhere], ({ dev }) => devices.has(dev));
    const written = (await changedBytes(roots, this.#startedAt)) + unnamed;
    this.#recountAt = Date.now() + RECOUNT_MS;
    return written > most
      ? `It wrote more than ${limits.totalWriteMb} MiB (agents.defaults.sandbox.bwrap.totalWriteMb)`
      : undefined;
  }
}

/** Free bytes of the file system of each directory. */
async function freeIn(roots: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const each = await Promise.all(
    roots.map(async (root): Promise<readonly (readonly [string, number])[]> => {
      // The directory has been removed, so nothing fills it.
      const found = await statfs(root).catch(() => undefined);
      return found ? [[root, found.bavail * found.bsize]] : [];
    }),
  );
  return new Map(each.flat());
}

const deviceOf = async (root: string): Promise<number | undefined> => (await stat(root).catch(() => undefined))?.dev;

/**
 * Bytes on the disk of the files below these directories that changed since a time; `Infinity` when there are too many
 * directories, or too deep ones.
 */
async function changedBytes(roots: readonly string[], since: number): Promise<number> {
  let bytes = 0;
  let left = MOST_DIRECTORIES;
  const dirs = [...roots];
  for (let dir = dirs.pop(); dir !== undefined; dir = dirs.pop()) {
    left -= 1;
    if (left < 0) return Infinity;
    const at = dir;
    const entries = await readdir(at, { withFileTypes: true }).catch((error: unknown): readonly Dirent[] | undefined =>
      errorCode(error) === "ENAMETOOLONG" ? undefined : [],
    );
    if (!entries) return Infinity;
    dirs.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(at, name)));
    const files = await Promise.all(
      entries.filter((entry) => entry.isFile()).map(({ name }) => lstat(join(at, name)).catch(() => undefined)),
    );
    for (const facts of files) if (facts && facts.ctimeMs >= since - CLOCK_MS) bytes += facts.blocks * BLOCK;
  }
  return bytes;
}
