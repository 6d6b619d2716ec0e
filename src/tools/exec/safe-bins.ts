import { isInterpreter, isRunner, programName } from "./exec-programs.ts";

/** Programs, in addition to interpreters and runners, that write files or start others: no list makes them safe. */
const NEVER_SAFE = new Set(
  "git hg svn tee dd split csplit install cp mv ln rm rsync scp sftp curl wget nc ncat socat telnet patch sponge tar zip unzip cpio pax view rview".split(
    " ",
  ),
);

/** Directories of programs that the agent cannot write. A program elsewhere may be anything. */
const TRUSTED_DIRS = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/** Names that mean the same program: `vim.tiny` and `bash-static` are `vim` and `bash`, `rbash` and `rvim` are restricted forms. */
function family(word: string): readonly string[] {
  const name = programName(word);
  const stem = programName(name.split(/[.-]/)[0] ?? name);
  return [name, stem, ...(/^r./.test(stem) ? [stem.slice(1)] : [])];
}

const isNeverSafe = (word: string): boolean =>
  family(word).some((name) => NEVER_SAFE.has(name) || isInterpreter(name) || isRunner(name));

const isInTrustedDir = (word: string): boolean =>
  !word.includes("/") ||
  TRUSTED_DIRS.some((dir) => word.startsWith(`${dir}/`) && !word.slice(dir.length + 1).includes("/"));

interface Flags {
  /** Letters that take a number, in the same word or the next. */
  readonly numbers?: string;
  /** Letters that are not allowed: they name files, or make the program run forever. */
  readonly denied?: string;
  /** A bare `-5` counts lines. */
  readonly isCount?: boolean;
}

/** The options of common filters. For any other program only letters without a value are allowed. */
const FILTERS: Readonly<Record<string, Flags>> = {
  head: { numbers: "nc", isCount: true },
  tail: { numbers: "nc", denied: "fF", isCount: true },
  cut: { numbers: "bcf" },
  fold: { numbers: "w" },
  uniq: { numbers: "fsw" },
  nl: { numbers: "vilw" },
  sort: { numbers: "k", denied: "oTS" },
  grep: { numbers: "ABCm", denied: "fdDrR" },
};

/** Letters that name a file in many programs, so they are not allowed for an unknown one. */
const UNKNOWN: Flags = { denied: "oOTfw" };

/** Long options that name files, programs or settings; programs accept a prefix for the whole. */
const DENIED_LONG = (
  "output outfile out-file file files0-from files-from temporary-directory compress-program random-source exec command config script " +
  "program log-file include from-file follow retry recursive dereference-recursive directories devices reference target-directory " +
  "in-place backup write save"
).split(" ");

const isDeniedLong = (name: string): boolean => DENIED_LONG.some((one) => one.startsWith(name) || name.startsWith(one));

const NUMBER = /^[+-]?\d+$/;

/** The words after an option and its value; undefined when the option's effect is not known. */
function afterOption(words: readonly string[], flags: Flags): readonly string[] | undefined {
  const [word = "", ...rest] = words;
  if (flags.isCount === true && /^-\d+$/.test(word)) return rest;
  const long = /^--([A-Za-z][A-Za-z-]*)(?:=\d+)?$/.exec(word)?.[1];
  if (long !== undefined) return isDeniedLong(long.toLowerCase()) ? undefined : rest;
  return afterLetter(words, flags);
}

function afterLetter([word = "", ...rest]: readonly string[], flags: Flags): readonly string[] | undefined {
  const [, letter, number] = /^-([A-Za-z])(\d*)$/.exec(word) ?? [];
  if (letter === undefined || flags.denied?.includes(letter) === true) return undefined;
  const takesNumber = flags.numbers?.includes(letter) === true;
  if (takesNumber === (number !== "")) return rest;
  return takesNumber && NUMBER.test(rest[0] ?? "") ? rest.slice(1) : undefined;
}

/**
 * Whether a program of the operator's list reads only its standard input: it is no interpreter under any of its names, lies
 * in a trusted directory, and its words are flags and numbers that name no file. Pure.
 */
export function isSafeBin(program: string, words: readonly string[], safeBins: readonly string[]): boolean {
  if (!safeBins.includes(program) || isNeverSafe(program) || !isInTrustedDir(program)) return false;
  const name = programName(program);
  const flags = (Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined) ?? UNKNOWN;
  let left: readonly string[] | undefined = words;
  while (left !== undefined && left.length > 0) left = afterOption(left, flags);
  return left !== undefined;
}

/** Why an entry of the list never has an effect; undefined for one that may. */
export function whyNeverSafe(program: string): string | undefined {
  if (isNeverSafe(program)) return "runs other programs or writes files, so it still needs approval";
  return isInTrustedDir(program) ? undefined : `is outside ${TRUSTED_DIRS.join(", ")}, so it still needs approval`;
}
