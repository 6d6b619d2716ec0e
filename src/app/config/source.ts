import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import type { Env } from "../../utils/env.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { isMissing } from "../../utils/missing.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { locate, parseConfigText } from "./parse.ts";
import {
  ConfigError,
  isRecord,
  showPath,
  valueAt,
  type ConfigNote,
  type KeyPath,
  type RawNote,
} from "./schema/problem.ts";

/** The key of an object whose value comes from other files. */
const INCLUDE = "$include";
/** Most levels of files that include files. */
const MOST_LEVELS = 10;
/** Most files that are put in places of a config, each counted as often as it is named. */
const MOST_INCLUDED = 1000;
/** Most characters of the path of an included file. */
const MOST_PATH = 4096;
/** Most bytes of an included file. */
const MOST_INCLUDED_BYTES = 2 * 1024 * 1024;
/**
 * Most bytes of the file. A typical config has a few thousand; a file that takes long to parse would block the gateway.
 */
const MOST_BYTES = 1024 * 1024;

/** An object of the config that takes its value from other files. */
export interface IncludePlace {
  /** The place of the object in the whole config. */
  readonly path: KeyPath;
  /** The file that names the others. */
  readonly from: string;
  /** Absolute paths, in the order of the merge. */
  readonly files: readonly string[];
  /** Whether the object is nothing but one file's value, so that a change of it can be written there. */
  readonly isWhole: boolean;
}

/** The files of the config, read as one. */
export interface ConfigSource {
  /** The main file. */
  readonly path: string;
  /** The main file's text; undefined when there is no file. */
  readonly text: string | undefined;
  /** The value with all files in it and nothing else resolved; `{}` when there is no file. */
  readonly value: unknown;
  /** The text and the value of each file, without the files that it includes. */
  readonly files: ReadonlyMap<string, { readonly text: string; readonly value: unknown }>;
  readonly includes: readonly IncludePlace[];
  /** SHA-256, hex, of the main file's text, and of the included files where there are some. */
  readonly hash: string;
}

export interface SourceOptions {
  readonly path: string;
  /** The environment that names further folders; that of the process when unset. */
  readonly env?: Env;
}

/** Texts that stand for files, by absolute path, to check a change before it is written. */
type Texts = ReadonlyMap<string, string>;

/**
 * Reads the config with the files that it includes. Throws `ConfigError` with `CONFIG_UNREADABLE`, `CONFIG_SYNTAX` or
 * `CONFIG_INVALID`.
 */
export async function readConfigSource(options: SourceOptions): Promise<ConfigSource> {
  return sourceOf(await readConfigText(options.path), options);
}

/** As `readConfigSource`, of a main file with this text. `texts`: texts that are not in the included files yet. */
export async function sourceOf(
  text: string | undefined,
  { path, env = process.env }: SourceOptions,
  texts: Texts = new Map(),
): Promise<ConfigSource> {
  const parsed = text === undefined || text.trim() === "" ? {} : parseConfigText(text, path);
  const files = new Map([[path, { text: text ?? "", value: parsed }]]);
  const includes: IncludePlace[] = [];
  const value = hasInclude(parsed)
    ? await new Reader({ files, includes, texts, roots: await rootsOf(path, env) }).read(parsed, {
        path: [],
        chain: [path],
        start: 0,
      })
    : parsed;
  return { path, text, value, files, includes, hash: hashOf(path, files) };
}

const textHash = (text: string): string => createHash("sha256").update(text).digest("hex");

function hashOf(path: string, files: ConfigSource["files"]): string {
  const main = files.get(path)?.text ?? "";
  const others = [...files].filter(([file]) => file !== path).toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (others.length === 0) return textHash(main);
  return textHash([main, ...others.flatMap(([file, { text }]) => [file, text])].join("\0"));
}

/**
 * The hash of the config's files as they are now. Never rejects: files that cannot be read as a config have a hash of
 * their own, so that each change of them is seen.
 */
export async function hashOnDisk(options: SourceOptions): Promise<string> {
  try {
    return (await readConfigSource(options)).hash;
  } catch (error) {
    const text = await readConfigText(options.path).catch(() => "unreadable");
    return textHash(`${text ?? ""}\0${errorText(error)}`);
  }
}

/** The text of the config's main file; undefined when there is none. Throws `CONFIG_UNREADABLE`. */
export async function readConfigText(path: string): Promise<string | undefined> {
  try {
    return await readText(path, MOST_BYTES);
  } catch (error) {
    if (isMissing(error)) return undefined;
    const reason = errorText(error);
    throw new ConfigError("CONFIG_UNREADABLE", {
      message: `${path} cannot be read: ${reason}`,
      fix: "Make it a file of at most 1 MB that this user may read (chmod 600), or point OPENCLAW_CONFIG_PATH to another file.",
      cause: error,
    });
  }
}

/**
 * Reads a regular file, through links too. Throws on anything else: a named pipe would block, and a device has no end.
 */
async function readText(path: string, most: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error("it is not a regular file");
    if (facts.size > most) throw new Error(`it is larger than ${most / 1024} KB`);
    return (await readBytes(file, facts.size)).toString("utf8");
  } finally {
    await file.close();
  }
}

/** Whether an object anywhere in the value names other files. */
export function hasInclude(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasInclude);
  if (!isRecord(value)) return false;
  return Object.hasOwn(value, INCLUDE) || Object.values(value).some(hasInclude);
}

/** The folders in which included files may lie: that of the config, and those of `OPENCLAW_INCLUDE_ROOTS`. */
async function rootsOf(path: string, env: Env): Promise<readonly string[]> {
  const given = (env["OPENCLAW_INCLUDE_ROOTS"] ?? "").split(delimiter).filter((root) => isAbsolute(root));
  const roots = [dirname(path), ...given];
  return Promise.all(roots.map((root) => realpath(root).catch(() => resolve(root))));
}

interface Reading {
  readonly files: Map<string, { text: string; value: unknown }>;
  readonly includes: IncludePlace[];
  readonly texts: Texts;
  readonly roots: readonly string[];
}

/** Puts the values of included files in their places. */
class Reader {
  readonly #reading: Reading;
  #count = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Throws `CONFIG_INVALID`. */
  async read(value: unknown, at: Place): Promise<unknown> {
    const below = (name: string | number): Place => ({ ...at, path: [...at.path, name] });
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [index, item] of value.entries()) items.push(await this.read(item, below(index)));
      return items;
    }
    if (!isRecord(value)) return value;
    const { [INCLUDE]: named, ...own } = value;
    const children: (readonly [string, unknown])[] = [];
    for (const [name, child] of Object.entries(own)) children.push([name, await this.read(child, below(name))]);
    const siblings = Object.fromEntries(children);
    return named === undefined ? siblings : this.#included(named, siblings, at);
  }

  async #included(named: unknown, siblings: Record<string, unknown>, at: Place): Promise<unknown> {
    const isOne = typeof named === "string";
    const names: readonly unknown[] = Array.isArray(named) ? named : [named];
    const files: string[] = [];
    let merged: unknown = isOne ? undefined : {};
    for (const name of names) {
      if (typeof name !== "string") throw this.#refused(at, `${INCLUDE} takes the path of a file, or a list of them`);
      const file = await this.#fileOf(name, at);
      files.push(file);
      const inside = { path: at.path, chain: [...at.chain, file], start: at.path.length };
      const value = await this.read(await this.#valueOf(file, name, at), inside);
      merged = isOne ? value : mergedValues(merged, value);
    }
    const isWhole = isOne && Object.keys(siblings).length === 0;
    this.#reading.includes.push({ path: at.path, from: at.chain.at(-1) ?? "", files, isWhole });
    if (isWhole) return merged;
    if (!isRecord(merged))
      throw this.#refused(at, `${names.join(", ")} must be an object, since other keys stand beside ${INCLUDE}`);
    return mergedValues(merged, siblings);
  }

  /** The absolute path of an included file, which lies in an allowed folder, also where it is a link. */
  async #fileOf(name: string, at: Place): Promise<string> {
    const { chain } = at;
    this.#count += 1;
    if (this.#count > MOST_INCLUDED) throw this.#refused(at, `more than ${MOST_INCLUDED} files are included`);
    if (name === "" || name.includes("\0") || name.length >= MOST_PATH)
      throw this.#refused(at, "the path of a file is too long, or none");
    if (chain.length > MOST_LEVELS)
      throw this.#refused(at, `${name}: more than ${MOST_LEVELS} files include each other`);
    const asked = resolve(dirname(chain.at(-1) ?? ""), name);
    const file = await realpath(asked).catch(() => asked);
    if (!this.#reading.roots.some((root) => isWithin(file, root)))
      throw this.#refused(
        at,
        `${name} lies outside the folder of the config and the folders of OPENCLAW_INCLUDE_ROOTS`,
      );
    const before = await Promise.all(chain.map((path) => realpath(path).catch(() => path)));
    if (before.includes(file))
      throw this.#refused(
        at,
        `${name} includes itself: ${[...before, file].map((path) => basename(path)).join(" → ")}`,
      );
    return file;
  }

  async #valueOf(file: string, name: string, at: Place): Promise<unknown> {
    const known = this.#reading.files.get(file);
    if (known) return known.value;
    const text = this.#reading.texts.get(file) ?? (await this.#textOf(file, name, at));
    const value = text.trim() === "" ? {} : parseConfigText(text, file);
    this.#reading.files.set(file, { text, value });
    return value;
  }

  async #textOf(file: string, name: string, at: Place): Promise<string> {
    try {
      return await readText(file, MOST_INCLUDED_BYTES);
    } catch (error) {
      throw this.#refused(
        at,
        `${name} cannot be read: ${isMissing(error) ? "there is no such file" : errorText(error)}`,
      );
    }
  }

  #refused({ path, chain, start }: Place, message: string): ConfigError {
    const file = chain.at(-1) ?? "";
    const note: RawNote = { path: [...path.slice(start), INCLUDE], message };
    const key = showPath([...path, INCLUDE]);
    const problems = locate([note], this.#reading.files.get(file)?.text ?? "", file).map((found) => ({
      ...found,
      key,
      text: found.text.replace(`${found.key}: `, () => `${key}: `),
    }));
    return new ConfigError("CONFIG_INVALID", {
      message: problems[0]?.text ?? message,
      fix: "Mend the path or the file, then run: openclaw config validate",
      problems,
    });
  }
}

interface Place {
  readonly path: KeyPath;
  /** The files that lead to this value, the main file first. */
  readonly chain: readonly string[];
  /** How many parts of the path lead to the value of the last of these files. */
  readonly start: number;
}

function isWithin(file: string, root: string): boolean {
  const way = relative(root, file);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Objects are merged key by key and lists are put after each other; of other values the later one counts. */
function mergedValues(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return [...one, ...other];
  if (!isRecord(one) || !isRecord(other)) return other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const [before, after] = [valueAt(one, [name]), valueAt(other, [name])];
      return [name, Object.hasOwn(other, name) ? mergedValues(before, after) : before];
    }),
  );
}

/** Puts the notes at their places in the files. */
export function locateIn(source: ConfigSource, notes: readonly RawNote[]): readonly ConfigNote[] {
  if (source.includes.length === 0) return locate(notes, source.text ?? "", source.path);
  return notes.flatMap((note) => {
    const { file, path } = homeOf(source, note.path);
    const [found] = locate([{ ...note, path }], source.files.get(file)?.text ?? "", file);
    const key = showPath(note.path);
    return found ? [{ ...found, key, text: found.text.replace(`${found.key}: `, () => `${key}: `) }] : [];
  });
}

/** A file, and the place in it. */
export interface Home {
  readonly file: string;
  readonly path: KeyPath;
}

/** The file that has the value at a path. The main file when no included file has it. */
function homeOf(source: ConfigSource, path: KeyPath): Home {
  let home: Home = { file: source.path, path };
  for (;;) {
    const next = below(source, path, home);
    if (!next) return home;
    home = next;
  }
}

/** The included file that has the value, where the home's own file has not; undefined when there is none. */
function below(source: ConfigSource, whole: KeyPath, home: Home): Home | undefined {
  const { value } = source.files.get(home.file) ?? {};
  if (home.path.length > 0 && isOwn(valueAt(value, home.path))) return undefined;
  const depth = whole.length - home.path.length;
  const place = source.includes
    .filter(({ from, path }) => from === home.file && path.length >= depth && startsWith(whole, path))
    .toSorted((one, other) => other.path.length - one.path.length)[0];
  if (!place) return undefined;
  const inside = whole.slice(place.path.length);
  const file = place.isWhole
    ? place.files[0]
    : place.files.findLast((one) => valueAt(source.files.get(one)?.value, inside) !== undefined);
  return file === undefined || file === home.file ? undefined : { file, path: inside };
}

/** Whether a file itself has a value, which is not that of another file. */
const isOwn = (value: unknown): boolean => value !== undefined && !(isRecord(value) && Object.hasOwn(value, INCLUDE));

const startsWith = (path: KeyPath, start: KeyPath): boolean =>
  start.every((part, at) => String(path[at]) === String(part));

/** A new value at a path; undefined removes the key. */
interface Change {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** Lists and objects are put together with those of other files, and a removed key lets theirs through. */
const isJoined = (value: unknown): boolean => value === undefined || Array.isArray(value) || isRecord(value);

/** Why a value cannot be changed in its own file: files that are named beside it have values there too. */
function besideOthers(source: ConfigSource, path: KeyPath, home: Home): string | undefined {
  const places = source.includes.filter((one) => one.from === home.file && startsWith(path, one.path));
  const files = places.flatMap(({ files: all, path: start }) =>
    all.filter((file) => valueAt(source.files.get(file)?.value, path.slice(start.length)) !== undefined),
  );
  return files.length === 0
    ? undefined
    : `${showPath(path)} is made of several files: ${namesOf([home.file, ...files])}`;
}

const namesOf = (files: readonly string[]): string => files.map((file) => basename(file)).join(", ");

/** The place of a value in the file that an object names. A text instead: why it cannot be written there. */
function enteredBy(place: IncludePlace, path: KeyPath, includes: readonly IncludePlace[]): Home | string {
  const [file = ""] = place.files;
  const often = includes.filter((one) => one.files.includes(file)).length;
  if (often > 1) return `${basename(file)} stands in ${often} places, and all of them would change`;
  if (place.isWhole) return { file, path: path.slice(place.path.length) };
  return `${showPath(path) || "the config"} may come from ${namesOf(place.files)} and from keys beside $include in ${basename(place.from)}`;
}

/**
 * The file into which a change of this path is written, and the place in it. A text instead: why it cannot be written,
 * since several files make the value, or the change would put values of other files into this one.
 */
export function writeHomeOf(source: ConfigSource, { path, value: next }: Change): Home | string {
  const { includes } = source;
  const inside = includes.find((place) => place.path.length > path.length && startsWith(place.path, path));
  if (inside && next !== undefined)
    return `${showPath(path)} has values of ${inside.files.map((file) => basename(file)).join(", ")}`;
  let home: Home = { file: source.path, path };
  for (;;) {
    const { value } = source.files.get(home.file) ?? {};
    if (home.path.length > 0 && isOwn(valueAt(value, home.path)))
      return isJoined(next) ? (besideOthers(source, path, home) ?? home) : home;
    const depth = path.length - home.path.length;
    const place = includes
      .filter((one) => one.from === home.file && one.path.length >= depth && startsWith(path, one.path))
      .toSorted((one, other) => other.path.length - one.path.length)[0];
    // The object that names the files goes; the files stay.
    if (!place || (next === undefined && place.path.length === path.length)) return home;
    const entered = enteredBy(place, path, includes);
    if (typeof entered === "string") return entered;
    home = entered;
  }
}
