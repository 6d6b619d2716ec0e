import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import type { FoundProgram } from "../../types/run/backend.ts";
import { isInside } from "../../utils/real-path.ts";
import { mayStartPrograms } from "./program-file.ts";
import { hashOf, type SearchedPlace } from "./named-files.ts";

/**
 * The program that a shell starts for a word: the word itself when it holds a slash, else the first of this name on the path.
 * Undefined on Windows, where a shell finds programs by further rules.
 */
export async function findProgram(word: string, place: SearchedPlace): Promise<FoundProgram | undefined> {
  if (process.platform === "win32" || word === "") return undefined;
  const { cwd, workspace, path } = place;
  const tried = word.includes("/") ? [resolve(cwd, word)] : path.map((dir) => resolve(cwd, dir, word));
  for (const candidate of tried) {
    const real = await executable(candidate);
    if (real === undefined) continue;
    const isWritable = [candidate, real].some((one) => canBeWritten(one, workspace));
    return {
      path: candidate,
      real,
      ...((await mayStartPrograms(real)) && { startsOthers: true as const }),
      ...(isWritable && { writable: await hashOf(real) }),
    };
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? await realpath(path) : undefined;
  } catch {
    // There is none, or it may not be run: a shell looks in the next directory.
    return undefined;
  }
}

/** Directories that every program may write. */
const SHARED = ["/tmp", "/var/tmp", "/dev/shm", tmpdir()];

/** Whether an agent can write there without a question: its file tools can, or any safe program's output may be there. */
const canBeWritten = (path: string, workspace: string): boolean =>
  [workspace, ...SHARED].some((dir) => isInside(path, dir));
