import type { Dirent } from "node:fs";
import { lstat, readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { RunningCommand } from "../../../types/run/backend.ts";
import { errorCode } from "../../../utils/missing.ts";
import { memoryOf, sharedOfMachine, treeOf, unnamedBytes, wholeMemoryOf } from "./process-tree.ts";

/** Limits of all processes of a command together. */
export interface Totals {
  readonly processes: number;
  readonly totalMemoryMb: number;
  readonly totalWriteMb: number;
}

export interface MeterOptions {
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
export class Meter {
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
