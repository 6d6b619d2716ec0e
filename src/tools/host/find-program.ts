import { constants } from "node:fs";
import { access, realpath, stat, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import type { FoundProgram } from "../../types/run/backend.ts";
import { isInside } from "../../utils/real-path.ts";
import { fileHash, type SearchedPlace } from "./repository/named-files.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";

/**
 * The program that a shell starts for a word: the word itself when it holds a slash, else the first of this name on the
 * path. Undefined on Windows, where a shell finds programs by further rules.
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
      ...(isWritable && { writable: await fileHash(real) }),
    };
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? await realpath(path) : undefined;
  } catch {
    // The file is missing, or may not be run: a shell looks in the next directory.
    return undefined;
  }
}

/** Directories that every program may write. */
const SHARED = ["/tmp", "/var/tmp", "/dev/shm", tmpdir()];

/**
 * Whether an agent can write to a path without a question: its file tools can, or any safe program's output may be
 * there.
 */
const canBeWritten = (path: string, workspace: string): boolean =>
  [workspace, ...SHARED].some((dir) => isInside(path, dir));

/** Functions of the system's libraries that start a program. */
const STARTS =
  "execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp system popen wordexp".split(
    " ",
  );

/** Most bytes of a program that is read; a larger one counts as able to start others. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Results for files, by path, size, time of the last change and inode. */
const KNOWN = new BoundedMap<string, boolean>(500);

/**
 * Whether a program file may start other programs: its table of symbols names a function that does, or it has no such
 * table, because it is a script, a program without shared libraries, or the loader of such libraries. True also for a
 * file that cannot be read.
 */
async function mayStartPrograms(path: string): Promise<boolean> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    const key = `${path}\0${size}\0${mtimeMs}\0${ino}`;
    const known = KNOWN.get(key);
    if (known !== undefined) return known;
    const found = size > MOST_BYTES || importsStart(await readFile(path));
    KNOWN.set(key, found);
    return found;
  } catch {
    // A program that only its owner may read can be run all the same.
    return true;
  }
}

const ELF = Buffer.from("\x7fELF", "latin1");
const MACH_O = ["cffaedfe", "cefaedfe", "cafebabe"];

/** Loader of an ELF program with shared libraries, which its file names near the beginning. */
const NAMED_LOADER = /\/ld[^\0/]*\.so|\/ld-musl/;

function importsStart(file: Buffer): boolean {
  const isElf = file.subarray(0, 4).equals(ELF);
  if (!isElf && !MACH_O.includes(file.subarray(0, 4).toString("hex"))) return true;
  if (isElf && !NAMED_LOADER.test(file.subarray(0, 4096).toString("latin1"))) return true;
  return STARTS.some((name) => file.includes(`\0${name}\0`) || file.includes(`\0_${name}\0`));
}
