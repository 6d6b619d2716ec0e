import { readFile, stat } from "node:fs/promises";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** Functions of the system's libraries that start a program. */
const STARTS =
  "execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp system popen wordexp".split(
    " ",
  );

/** Most bytes of a program that is read; a larger one counts as able to start others. */
const MOST_BYTES = 16 * 1024 * 1024;

/** What files showed, by path, size and time of the last change. */
const KNOWN = new BoundedMap<string, boolean>(500);

/**
 * Whether a program file may start other programs: its table of symbols names a function that does, or it has none, because
 * it is a script, a program without shared libraries, or the loader of such libraries. True also for what cannot be read.
 */
export async function mayStartPrograms(path: string): Promise<boolean> {
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

/** An ELF program with shared libraries names its loader near the beginning. */
const NAMED_LOADER = /\/ld[^\0/]*\.so|\/ld-musl/;

function importsStart(file: Buffer): boolean {
  const isElf = file.subarray(0, 4).equals(ELF);
  if (!isElf && !MACH_O.includes(file.subarray(0, 4).toString("hex"))) return true;
  if (isElf && !NAMED_LOADER.test(file.subarray(0, 4096).toString("latin1"))) return true;
  return STARTS.some((name) => file.includes(`\0${name}\0`) || file.includes(`\0_${name}\0`));
}
