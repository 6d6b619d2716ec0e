import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isFields } from "../utils/fields.ts";
import { makePrivateDir, writeAtomic } from "./disk.ts";
import { readSessionTable } from "./journal/session-table.ts";
import { realPathsOf, OwnPath, pathPattern, placesOfFiles } from "./own-path.ts";
import { readTextFile } from "./text-file.ts";

/** A path under which a state directory was opened. */
interface Place {
  readonly path: string;
  /** Epoch milliseconds since when the directory has been opened under another path. */
  readonly until?: number;
}

type Left = Required<Place>;

/** Places that are remembered, the latest ones. */
const MOST = 20;

const fileIn = (stateDir: string): string => join(stateDir, "state", "places.json");

/**
 * Where a state directory was before it was moved, or copied to where it is. Texts and settings of that time name files in it by
 * their earlier path, at which there may be another directory now, such as the original of a copy.
 */
export class EarlierPlaces {
  readonly #present: string;
  readonly #left: ReadonlyMap<string, number>;
  readonly #paths: RegExp;

  /** `present` is an absolute path. */
  constructor(present: string, left: readonly Left[]) {
    this.#present = present;
    this.#left = new Map(left.map(({ path, until }) => [path, until]));
    // The present path too: it may be inside an earlier place.
    this.#paths = pathPattern([present, ...this.#left.keys()]);
  }

  /** Whether the directory was never anywhere else. */
  get isNone(): boolean {
    return this.#left.size === 0;
  }

  /** The paths under which the directory is not reached any more, the latest last. */
  get paths(): readonly string[] {
    return [...this.#left.keys()];
  }

  /** A text of the time `at` with the present paths of files. A later text means its paths literally. Pure. */
  here(text: string, at: number): string {
    if (this.isNone || ![...this.#left.keys()].some((path) => text.includes(path))) return text;
    return text.replace(this.#paths, (path) => ((this.#left.get(path) ?? -1) >= at ? this.#present : path));
  }
}

/**
 * Lines of a file in the state that name files by their paths without symbolic links. A line of a time when the directory was elsewhere may
 * come from an earlier version, or mean the files that are there.
 */
export class PathLines {
  readonly #stateDir: string;
  readonly #own: OwnPath;

  constructor(stateDir: string) {
    const [real = stateDir] = realPathsOf(stateDir);
    this.#stateDir = stateDir;
    this.#own = new OwnPath(real, [stateDir]);
  }

  /** A line as it is written. Pure. */
  kept(line: string): string {
    return this.#own.kept(line);
  }

  /** Each line as it is read, and with the present paths where that is another one. */
  async opened(lines: readonly string[]): Promise<readonly string[]> {
    const earlier = await readPlaces(this.#stateDir);
    return lines.flatMap((line) => {
      const real = (text: string) => this.#own.opened(this.#own.kept(text));
      return [...new Set([real(line), real(earlier.here(line, 0))])];
    });
  }
}

/** The earlier places of a state directory, which is only read. Never rejects because of the file's content. */
export async function readPlaces(stateDir: string, now: number = Date.now()): Promise<EarlierPlaces> {
  return earlierIn(await placesOf(stateDir, now), stateDir);
}

/** The same, and remembers where the directory is. For the holder of its lock. Rejects when it cannot be read or written. */
export async function notePlace(stateDir: string, now: number = Date.now()): Promise<EarlierPlaces> {
  const places = await placesOf(stateDir, now);
  const text = `${JSON.stringify({ places }, null, 2)}\n`;
  const path = fileIn(stateDir);
  if (text !== (await readTextFile(path))) {
    await makePrivateDir(dirname(path));
    await writeAtomic(path, text);
  }
  return earlierIn(places, stateDir);
}

const earlierIn = (places: readonly Place[], stateDir: string): EarlierPlaces =>
  new EarlierPlaces(
    stateDir,
    places.flatMap(({ path, until }) => (until === undefined ? [] : [{ path, until }])),
  );

/** All places, the present one last. One by which the directory can still be reached, such as a symbolic link, is not left. */
async function placesOf(stateDir: string, now: number): Promise<readonly Place[]> {
  const known = (await noted(stateDir)) ?? (await placesInRows(stateDir));
  const present = [...realPathsOf(stateDir), stateDir];
  const others = known.filter(({ path }) => !present.includes(path)).slice(-MOST);
  const left = others.map(async (place) =>
    place.until !== undefined || (await isSame(place.path, stateDir)) ? place : { ...place, until: now },
  );
  return [...(await Promise.all(left)), ...present.map((path) => ({ path }))];
}

async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path, { bigint: true }).catch(() => undefined)));
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino;
}

/** Undefined when there is no list, or one that is not readable: then it is made anew. */
async function noted(stateDir: string): Promise<readonly Place[] | undefined> {
  const text = await readTextFile(fileIn(stateDir));
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const places: unknown = isFields(value) ? value["places"] : undefined;
    return Array.isArray(places) ? places.filter(isPlace) : undefined;
  } catch {
    // A power cut or a person has damaged it; nothing is lost that the next lines do not find as well as they can.
    return undefined;
  }
}

const isPlace = (value: unknown): value is Place =>
  isFields(value) &&
  typeof value["path"] === "string" &&
  value["path"].length > 1 &&
  (value["until"] === undefined || typeof value["until"] === "number");

/** Earlier versions kept no list, but the absolute path of each transcript. */
async function placesInRows(stateDir: string): Promise<readonly Place[]> {
  const stored = await readSessionTable(join(stateDir, "state", "journal.sqlite"));
  const files = stored.flatMap(({ row }) => row?.sessionFile ?? []);
  return placesOfFiles(files, stateDir).map((path) => ({ path }));
}
