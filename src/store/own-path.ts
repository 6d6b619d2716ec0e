import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, parse } from "node:path";

/**
 * How the state names its own directory: texts in the journal have this in place of the directory's path. JSON and SQL need no escape
 * for it, and a person can read it.
 */
const NAME = "<openclaw-state-dir>";

/**
 * The path of a state directory in texts that the directory contains: in a copy of the directory, these texts mean the
 * copy.
 */
export class OwnPath {
  readonly #dir: string;
  readonly #paths: RegExp;
  readonly #firsts: readonly string[];

  /** `dir`: absolute. `aliases`: other paths of the same directory. */
  constructor(dir: string, aliases: readonly string[] = []) {
    this.#dir = dir;
    this.#firsts = [dir, ...aliases].filter((path) => path.length > 1);
    this.#paths = pathPattern(this.#firsts);
  }

  /** The text without the path. Of a path that JSON writes in another way, nothing is replaced. Pure. */
  kept(text: string): string {
    return this.#firsts.some((path) => text.includes(path)) ? text.replace(this.#paths, NAME) : text;
  }

  /** A kept text with the path of this directory. Pure. */
  opened(text: string): string {
    return text.includes(NAME) ? text.replaceAll(NAME, () => this.#dir) : text;
  }
}

/** The state directory of a journal by the journal's path; undefined for one that lies elsewhere. */
export const stateDirOf = (journal: string): string | undefined =>
  basename(dirname(journal)) === "state" ? dirname(dirname(journal)) : undefined;

/** The path of a directory without symbolic links, where it is another one. */
export function realPathsOf(dir: string): readonly string[] {
  try {
    const real = realpathSync(dir);
    return real === dir ? [] : [real];
  } catch {
    // The directory does not exist yet, so no text has a path in it.
    return [];
  }
}

/**
 * The state directories that transcripts were in, by their paths: directories with a transcript that is in this
 * directory as well. A conversation of another program has its file only there.
 */
export function placesOfFiles(files: readonly string[], stateDir: string): readonly string[] {
  const dirs = new Set<string>();
  for (const file of files) {
    const { dir: sessions, base } = parse(file);
    const dir = dirname(sessions);
    if (!isAbsolute(file) || basename(sessions) !== "sessions" || dir === stateDir || dirs.has(dir)) continue;
    if (existsSync(join(stateDir, "sessions", base))) dirs.add(dir);
  }
  return [...dirs];
}

/** Finds these paths where a whole path begins with one, also in a `file://` address. */
export const pathPattern = (paths: readonly string[]): RegExp =>
  new RegExp(
    `${BEFORE}(?:${paths
      .toSorted((a, b) => b.length - a.length)
      .map((path) => path.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`))
      .join("|")})${AFTER}`,
    "gu",
  );

/** No longer path ends here. In JSON the letter before it may be that of a line's end. */
const BEFORE = String.raw`(?<!(?<!\\)[\p{L}\p{M}\p{N}_.~@%+-]|(?<!:\/)\/)`;
/** A name ends here; a full stop may follow it. */
const AFTER = String.raw`(?=\.?(?:$|[^\p{L}\p{M}\p{N}_.~@%+-]))`;
