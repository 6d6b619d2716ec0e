import { dirname } from "node:path";
import type { ExecSettings, SafeBinProfile } from "../../types/settings.ts";
import { own } from "../../utils/own.ts";
import type { FoundProgram } from "../../types/run/backend.ts";
import { mayStartOthers, namesOfProgram, programName } from "./programs/kinds.ts";

/** Programs that read, write or send files, in addition to programs that may start others: no list makes them safe. */
const NEVER_SAFE = new Set(
  "tee dd split csplit install cp mv ln rm socat nc ncat sponge shred truncate mktemp mkfifo xxd rg ripgrep ag ack jq yq gojq jaq".split(
    " ",
  ),
);

/**
 * Directories of programs that the agent cannot write, unless the config names others. `PATH` is never trusted by
 * itself.
 */
const TRUSTED_DIRS: readonly string[] = ["/bin", "/usr/bin"];

const isNeverSafe = (word: string): boolean =>
  mayStartOthers(word) || namesOfProgram(word).some((name) => NEVER_SAFE.has(name));

const trustedDirs = ({
  safeBinTrustedDirs,
}: {
  readonly safeBinTrustedDirs?: readonly string[] | undefined;
}): readonly string[] => safeBinTrustedDirs ?? TRUSTED_DIRS;

const isInDirs = (path: string, dirs: readonly string[]): boolean =>
  dirs.some((dir) => dirname(path) === dir.replace(/(?<=.)\/+$/, ""));

interface Flags {
  /** Letters that take a number, in the same word or the next. */
  readonly numbers?: string;
  /** Letters that are not allowed: they name files, or make the program run forever. */
  readonly denied?: string;
  /** True when a bare `-5` counts lines. */
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

/** Long options that name files, programs or settings. Programs accept the beginning of a long option for the whole. */
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

/** A call of a program. */
interface Call {
  /** The program's name in the command. */
  readonly name: string;
  readonly words: readonly string[];
  readonly program: FoundProgram;
}

type SafeSettings = Pick<ExecSettings, "safeBins" | "safeBinProfiles" | "safeBinTrustedDirs">;

/**
 * Whether a program of the operator's list reads only its standard input: it is no interpreter under any of its names,
 * lies in a trusted directory, and its words are flags and numbers that name no file, or fit its profile. A program
 * that is no known filter and has no profile must also be unable to start others, by the content of its file. Pure.
 */
export function isSafeBin({ name, words, program }: Call, settings: SafeSettings): boolean {
  if (!settings.safeBins.includes(name) || [name, program.path, program.real].some(isNeverSafe)) return false;
  if (!isInDirs(program.path, trustedDirs(settings))) return false;
  const profile = own(settings.safeBinProfiles ?? {}, name);
  if (profile) return fitsProfile(words, withDenied(profile, name));
  const isFilter = Object.hasOwn(FILTERS, programName(name));
  return (isFilter || program.startsOthers !== true) && namesNoFile(programName(name), words);
}

/** A profile with the flags that no profile of this program can allow. */
function withDenied(profile: SafeBinProfile, name: string): SafeBinProfile {
  const letters = own(FILTERS, programName(name))?.denied?.split("") ?? [];
  return { ...profile, deniedFlags: [...(profile.deniedFlags ?? []), ...letters.map((letter) => `-${letter}`)] };
}

function namesNoFile(name: string, words: readonly string[]): boolean {
  const flags = (Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined) ?? UNKNOWN;
  let left: readonly string[] | undefined = words;
  while (left !== undefined && left.length > 0) left = afterOption(left, flags);
  return left !== undefined;
}

/** Reason why an entry of the list never has an effect; undefined for an entry that may have one. */
export function whyNeverSafe(
  program: string,
  settings: { readonly safeBinTrustedDirs?: readonly string[] | undefined },
): string | undefined {
  if (isNeverSafe(program)) return "runs other programs or writes files, so it still needs approval";
  const dirs = trustedDirs(settings);
  const isElsewhere = program.includes("/") && !isInDirs(program, dirs);
  return isElsewhere
    ? `is outside ${dirs.join(", ")} (tools.exec.safeBinTrustedDirs), so it still needs approval`
    : undefined;
}

/** Flags of common filters that name files or programs, which no profile can allow. */
const NEVER = new Set(
  (
    "-o -O -T --output --outfile --temporary-directory --compress-program --random-source --files0-from --files-from --file --exec " +
    "--command --config --script --recursive --dereference-recursive --retry --follow"
  ).split(" "),
);

/** Whether a word may name a file, or be expanded by a program. */
const isPathLike = (word: string): boolean => /[/\\*?[\]$~]/.test(word) || word.startsWith(".") || word === "-";

/**
 * Whether words fit a profile of `safeBinProfiles`: no denied flag, values only for flags that may have one, and the
 * right number of other words, none of which may be a path. Short flags are compared letter by letter, long ones whole:
 * an abbreviated flag is refused where it may mean a denied one. Pure.
 */
function fitsProfile(words: readonly string[], profile: SafeBinProfile): boolean {
  const { minPositional = 0, maxPositional = 0, allowedValueFlags = [], deniedFlags = [] } = profile;
  const denied = [...[...NEVER].filter((flag) => !allowedValueFlags.includes(flag)), ...deniedFlags];
  const positional = positionalIn(words, allowedValueFlags, denied);
  return positional !== undefined && positional >= minPositional && positional <= maxPositional;
}

/** Number of words that are no flags and no values of flags. Undefined when a word is not allowed. */
function positionalIn(
  words: readonly string[],
  valued: readonly string[],
  denied: readonly string[],
): number | undefined {
  let positional = 0;
  let isValue = false;
  for (const word of words) {
    if (isPathLike(word) || word === "--") return undefined;
    const flag: Flag | undefined = !isValue && word.startsWith("-") ? readFlag(word, valued) : NO_FLAG;
    if (flag === undefined || denied.some((one) => mayMean(flag.name, one))) return undefined;
    if (!isValue && flag === NO_FLAG) positional += 1;
    isValue = flag.takesNext;
  }
  // A flag without its value is not understood.
  return isValue ? undefined : positional;
}

interface Flag {
  readonly name: string;
  readonly takesNext: boolean;
}

const NO_FLAG: Flag = { name: "", takesNext: false };

/** A flag without its value; undefined when a value is not allowed, or several letters are in one word. */
function readFlag(word: string, valued: readonly string[]): Flag | undefined {
  const equals = word.indexOf("=");
  if (word.startsWith("--")) {
    const name = equals < 0 ? word : word.slice(0, equals);
    if (equals >= 0 && !valued.includes(name)) return undefined;
    return { name, takesNext: equals < 0 && valued.includes(name) };
  }
  const name = word.slice(0, 2);
  const takesValue = valued.includes(name);
  if (word.length > 2 && !takesValue) return undefined;
  return { name, takesNext: takesValue && word.length === 2 };
}

/** Whether a flag may mean a denied one. Programs accept the beginning of a long flag for the whole. */
const mayMean = (flag: string, denied: string): boolean =>
  flag === denied || (flag.startsWith("--") && denied.startsWith(flag));
