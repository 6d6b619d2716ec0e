import { hash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../../store/disk.ts";
import type { ContextFileFacts } from "../../types/answers/agents.ts";
import { CONTEXT_FILES } from "../../types/engine/context-files.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

/** Most bytes of a file. The prompt shows far fewer. */
const MOST_FILE_BYTES = 1_048_576;

/** Reason why a file is not read or written, with a message for people. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
}

/** Another file has taken the place of the one that was read. */
export class OutdatedFile extends Error {
  override readonly name = "OutdatedFile";
  /** Unset when the file is gone. */
  readonly hash: string | undefined;

  constructor(file: string, now: string | undefined) {
    super(`agent file "${file}" changed since it was read`);
    this.hash = now;
  }
}

/** Whether a file may be read and written by this name. No path and no other file of the workspace may. */
export const isContextFile = (name: string): boolean => CONTEXT_FILES.some((one) => one === name);

/** The context files in the order of the prompt, including missing ones. */
export const listContextFiles = (workspace: string): Promise<readonly ContextFileFacts[]> =>
  Promise.all(CONTEXT_FILES.map((name) => factsOf(workspace, name)));

/**
 * One file with its content, which is unset when the file is missing. Throws `UnusableFile` for a link that leads out
 * of the workspace, and for a file that is not regular or is larger than 1 MiB.
 */
export async function readContextFile(workspace: string, name: string): Promise<ContextFileFacts> {
  const facts = await factsOf(workspace, name);
  if (facts.missing) return facts;
  const real = await placeOf(workspace, name);
  try {
    const bytes = await readRegular(real, MOST_FILE_BYTES);
    return { ...facts, hash: hash("sha256", bytes), content: bytes.toString("utf8") };
  } catch (error) {
    throw new UnusableFile(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

interface WrittenFile {
  readonly name: string;
  readonly content: string;
  /** The hash of the file that is replaced; any when unset. */
  readonly expectedHash?: string | undefined;
}

/**
 * Replaces one file in one step. Throws `UnusableFile` as `readContextFile` does, `OutdatedFile` when the file has another
 * hash, and DISK_FULL or DISK_WRITE.
 */
export async function writeContextFile(workspace: string, written: WrittenFile): Promise<ContextFileFacts> {
  const { name, content, expectedHash } = written;
  if (Buffer.byteLength(content) > MOST_FILE_BYTES) throw new UnusableFile(`${name} may have at most 1 MB.`);
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  const real = await placeOf(workspace, name);
  const before = await unlessMissing(stat(real));
  if (before && !before.isFile()) throw new UnusableFile(`${name} is not a regular file.`);
  if (expectedHash !== undefined) {
    const { hash: now } = await readContextFile(workspace, name);
    if (now !== expectedHash.toLowerCase()) throw new OutdatedFile(name, now);
  }
  await writeAtomic(real, content);
  return { ...(await factsOf(workspace, name)), hash: hash("sha256", content), content };
}

async function factsOf(workspace: string, name: string): Promise<ContextFileFacts> {
  const path = join(workspace, name);
  const found = await unlessMissing(stat(path));
  if (!found) return { name, path, missing: true };
  return { name, path, missing: false, size: found.size, updatedAtMs: Math.max(0, Math.floor(found.mtimeMs)) };
}

async function placeOf(workspace: string, name: string): Promise<string> {
  const [real, root] = await Promise.all([realOf(join(workspace, name)), realOf(workspace)]);
  if (isInside(real, root)) return real;
  throw new UnusableFile(`${name} is a link that leads out of the workspace.`);
}
