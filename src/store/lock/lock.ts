import { link, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import { errorCode, isMissing } from "../../utils/missing.ts";
import { diskError, makePrivateDir, writeUnsynced } from "../disk.ts";
import { ensureInstance, readInstance } from "./instance.ts";
import { notePlace, readPlaces } from "../places.ts";
import { processStart } from "./process-start.ts";
import { readTextFile } from "../text-file.ts";

const TRIES = 5;

/** The owner of a state directory. */
export interface LockFacts {
  readonly pid: number;
  /** Distinguishes a process from a later one with the same id. */
  readonly startedAt: string;
  readonly command: string;
  /** The state directory as this process calls it; earlier versions did not say. */
  readonly dir?: string;
  readonly port?: number;
}

export interface StateLock {
  readonly path: string;
  /** Publishes the port once it is known. */
  note(facts: { port: number }): Promise<void>;
  /** Removes the lock if this process still holds it. */
  release(): Promise<void>;
}

export const lockPath = (dir: string): string => join(dir, "state", "gateway.lock");

/**
 * Makes this process the only owner of a state directory, remembers where that is, and gives it an id. Takes over the lock of a dead process, and one
 * that was copied with its directory. Throws `OpenClawError` STATE_LOCKED when a living process holds it, STATE_UNWRITABLE when the
 * directory cannot be written.
 */
export async function acquireStateLock(dir: string): Promise<StateLock> {
  const path = lockPath(dir);
  const mine: LockFacts = {
    pid: process.pid,
    startedAt: (await processStart(process.pid)) ?? "unknown",
    command: ownCommand(),
    dir,
  };
  const release = async () => {
    const held = await readFacts(path);
    if (held && isSameProcess(held, mine)) await rm(path, { force: true });
  };
  try {
    await makePrivateDir(join(dir, "state"));
    await take(path, mine);
  } catch (error) {
    throw error instanceof OpenClawError ? error : unwritable(path, error);
  }
  try {
    await notePlace(dir);
    await ensureInstance(dir);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    path,
    note: async ({ port }) => await writeUnsynced(path, JSON.stringify({ ...mine, port })),
    release,
  };
}

const isSameProcess = (one: LockFacts, other: LockFacts): boolean =>
  one.pid === other.pid && one.startedAt === other.startedAt;

/**
 * The owner of a state directory. `alive` is false when it ended without releasing the lock. Undefined when there is no lock.
 */
export async function readStateLock(dir: string): Promise<(LockFacts & { readonly alive: boolean }) | undefined> {
  const held = await readFacts(lockPath(dir));
  return held && { ...held, alive: await isHolding(held, lockPath(dir)) };
}

/** The running gateway of the directory that another one is a copy of. */
export interface RunningOriginal {
  readonly dir: string;
  readonly pid: number;
  readonly port?: number;
}

/**
 * The gateway that runs on the original of this directory: in one of the places where this directory was, with the same instance id.
 * Undefined where none is seen on this machine. Never rejects.
 */
export async function runningOriginal(dir: string): Promise<RunningOriginal | undefined> {
  const id = (await readInstance(dir).catch(() => undefined))?.id;
  if (id === undefined) return undefined;
  const { paths } = await readPlaces(dir).catch(() => ({ paths: [] }));
  for (const path of paths) {
    // A place that cannot be read any more tells nothing of an original.
    const there = await readInstance(path).catch(() => undefined);
    if (there?.id !== id) continue;
    const lock = await readStateLock(path).catch(() => undefined);
    if (lock?.alive) return { dir: path, pid: lock.pid, ...(lock.port !== undefined && { port: lock.port }) };
  }
  return undefined;
}

async function take(path: string, mine: LockFacts): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await createExclusive(path, JSON.stringify(mine))) return;
    const held = await readFacts(path);
    if (held && (await isHolding(held, path))) throw locked(held);
    await setAside(path, held);
  }
  throw new OpenClawError("STATE_LOCKED", {
    message: `Several gateways are fighting over ${path}.`,
    fix: "Start one gateway only.",
  });
}

/**
 * Creates the lock with its content in one step, so that no process reads a part of it. Not synced: no process survives
 * a power cut, so a rest of the lock after one is taken for the lock of a dead process.
 */
async function createExclusive(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${process.pid}`;
  await writeUnsynced(draft, content);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    return await createPlainly(path, content);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Creates the file on file systems without hard links. */
async function createPlainly(path: string, content: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(content);
    await file.close();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw diskError(error, path);
  }
}

/** Moves an old lock away. If another process took over meanwhile, its lock is put back. */
async function setAside(path: string, stale: LockFacts | undefined): Promise<void> {
  const aside = `${path}.stale.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  const moved = await readFacts(aside);
  if (moved && !(stale && isSameProcess(moved, stale))) await rename(aside, path);
  else await rm(aside, { force: true });
}

async function isHolding(held: LockFacts, path: string): Promise<boolean> {
  const start = await processStart(held.pid);
  const isAlive =
    start !== undefined && (start === held.startedAt || start === "unknown" || held.startedAt === "unknown");
  return isAlive && !(await isCopy(held, path));
}

/**
 * Whether the lock came here with a copy of a running gateway's directory: where it says that it is, it still is, in another directory.
 * One that was moved has the only lock, and one with several paths has the same.
 */
async function isCopy(held: LockFacts, path: string): Promise<boolean> {
  if (held.dir === undefined || lockPath(held.dir) === path) return false;
  const first = lockPath(held.dir);
  const [there, here, facts] = await Promise.all([
    statOf(dirname(first)),
    statOf(dirname(path)),
    readFacts(first).catch(() => undefined),
  ]);
  if (!there || !here || !facts || !isSameProcess(facts, held)) return false;
  return there.dev !== here.dev || there.ino !== here.ino;
}

const statOf = (path: string) => stat(path, { bigint: true }).catch(() => undefined);

/** Undefined when there is no lock or its content is incomplete. */
async function readFacts(path: string): Promise<LockFacts | undefined> {
  try {
    const text = await readTextFile(path);
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    return isFacts(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isFacts(value: unknown): value is LockFacts {
  if (typeof value !== "object" || value === null) return false;
  if (!("pid" in value) || !("startedAt" in value) || !("command" in value)) return false;
  if ("dir" in value && typeof value.dir !== "string") return false;
  return Number.isInteger(value.pid) && typeof value.startedAt === "string" && typeof value.command === "string";
}

/** The arguments up to the first flag, because a token may follow a flag. */
function ownCommand(): string {
  const [, script = "openclaw", ...words] = process.argv;
  const flag = words.findIndex((word) => word.startsWith("-"));
  return [basename(script), ...(flag < 0 ? words : words.slice(0, flag))].join(" ");
}

function locked(held: LockFacts): OpenClawError {
  const at = held.port === undefined ? "" : ` on port ${held.port}`;
  return new OpenClawError("STATE_LOCKED", {
    message: `Another gateway (pid ${held.pid}${at}) owns this state directory.`,
    fix: "Stop it with `openclaw gateway stop`, or give this one its own OPENCLAW_STATE_DIR.",
  });
}

function unwritable(path: string, cause: unknown): OpenClawError {
  return new OpenClawError("STATE_UNWRITABLE", {
    message: `Could not write ${path}.`,
    fix: "Make the state directory writable for this user.",
    cause,
  });
}
