import type { SafeBinProfile } from "../../../types/settings.ts";

/** Flags of common filters that name files or programs, which no profile can allow. */
const NEVER = new Set(
  (
    "-o -O -T --output --outfile --temporary-directory --compress-program --random-source --files0-from --files-from --file --exec " +
    "--command --config --script --recursive --dereference-recursive --retry --follow"
  ).split(" "),
);

/** A word that may name a file, or be expanded by a program. */
const isPathLike = (word: string): boolean => /[/\\*?[\]$~]/.test(word) || word.startsWith(".") || word === "-";

/**
 * Whether words are what a profile of `safeBinProfiles` allows: no denied flag, values only for flags that may have one, and
 * as many other words as it says, none of which may be a path. Short flags are compared letter by letter, long ones whole: an
 * abbreviated one is refused where it may mean a denied one. Pure.
 */
export function fitsProfile(words: readonly string[], profile: SafeBinProfile): boolean {
  const { minPositional = 0, maxPositional = 0, allowedValueFlags = [], deniedFlags = [] } = profile;
  const denied = [...[...NEVER].filter((flag) => !allowedValueFlags.includes(flag)), ...deniedFlags];
  const positional = positionalIn(words, allowedValueFlags, denied);
  return positional !== undefined && positional >= minPositional && positional <= maxPositional;
}

/** How many words are no flags and no values of flags. Undefined when a word is not allowed. */
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

/** Programs accept the beginning of a long flag for the whole. */
const mayMean = (flag: string, denied: string): boolean =>
  flag === denied || (flag.startsWith("--") && denied.startsWith(flag));
