import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { fileSizeText } from "../../dispatch/commands/reports/chat-file.ts";
import { backupsIn } from "../backup/schedule.ts";
import { resolveAgents } from "../config/settings.ts";
import type { Config } from "../config/schema/schema.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { isMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import { GROWING, OTHERS, type GrowingThing } from "./things.ts";

/** A growing thing as it is now. */
export interface GrowthRow {
  readonly name: string;
  /** The place for people. */
  readonly path: string;
  /** Undefined when it was not counted. */
  readonly bytes: number | undefined;
  /** There are more files than were counted, so that there are more bytes. */
  readonly isPartial: boolean;
  /** The bound in words; undefined when there is none. */
  readonly bound: string | undefined;
  readonly limitBytes: number | undefined;
  readonly keys: readonly string[];
  readonly fix: string;
}

export interface GrowthScene {
  readonly config: Config;
  readonly stateDir: string;
  readonly home: string;
  readonly env: Env;
}

/** How much is looked at. */
export interface Effort {
  /** Most files of a thing whose size is asked for. */
  readonly mostFiles: number;
  /** Whether the folders are entered that have very many files. */
  readonly isDeep: boolean;
}

/** For a look that must not take long, and for one that a person waits for. */
export const QUICK: Effort = { mostFiles: 1000, isDeep: false };
export const THOROUGH: Effort = { mostFiles: 100_000, isDeep: true };

/** Entries of folders after which nothing more is looked at, whatever they are. */
const MOST_ENTRIES = 500_000;
/** Files that are asked for their size at once. */
const AT_ONCE = 64;

/** All that grows, with its present size, in one pass over the state directory. Links are not followed. */
export async function growthOf(scene: GrowthScene, effort: Effort): Promise<readonly GrowthRow[]> {
  const counts = new Map<GrowingThing, Count>([...GROWING, OTHERS].map((thing) => [thing, new Count()]));
  const walk = new Walk(scene.stateDir, effort, counts);
  await walk.enter("");
  await walk.end();
  const things = [...counts].map(([thing, count]): GrowthRow => {
    const isCounted = effort.isDeep || thing.isDeep !== true;
    return rowOf(thing, scene, isCounted ? count : undefined);
  });
  return [...things, await backups(scene), ...(await outsideWorkspaces(scene, effort))];
}

function rowOf(
  thing: GrowingThing,
  { config, stateDir }: Pick<GrowthScene, "config" | "stateDir">,
  count: Count | undefined,
): GrowthRow {
  const { name, at, keys, fix } = thing;
  const bound = thing.bound(config);
  return {
    name,
    path: thing === OTHERS ? at : `${join(stateDir, at.split(", ")[0] ?? at)}${at.includes(", ") ? " and others" : ""}`,
    bytes: count?.bytes,
    isPartial: count?.isPartial ?? false,
    bound: bound?.text,
    limitBytes: bound?.bytes,
    keys,
    fix,
  };
}

class Count {
  bytes = 0;
  files = 0;
  isPartial = false;
}

/** One pass over a folder. */
class Walk {
  readonly #root: string;
  readonly #effort: Effort;
  readonly #counts: ReadonlyMap<GrowingThing, Count>;
  #entries = 0;
  #asking: Promise<void>[] = [];

  constructor(root: string, effort: Effort, counts: ReadonlyMap<GrowingThing, Count>) {
    this.#root = root;
    this.#effort = effort;
    this.#counts = counts;
  }

  /** `below`: the folder, as a path from the root that ends with `/`; empty for the root. */
  async enter(below: string): Promise<void> {
    const folders: string[] = [];
    try {
      for await (const entry of await opendir(join(this.#root, below), { bufferSize: 512 })) {
        const path = `${below}${entry.name}`;
        this.#entries += 1;
        if (this.#entries > MOST_ENTRIES) return this.#cut(path);
        if (entry.isDirectory()) folders.push(`${path}/`);
        else if (entry.isFile()) await this.#add(path);
      }
    } catch (error) {
      // A folder that is removed meanwhile has nothing. One that is closed has a check of its own (app.permissions).
      if (!isMissing(error)) this.#cut(below);
    }
    for (const folder of folders) if (this.#effort.isDeep || !this.#thingOf(folder).isDeep) await this.enter(folder);
  }

  async end(): Promise<void> {
    await Promise.all(this.#asking.splice(0));
  }

  #thingOf = (path: string): GrowingThing => [...this.#counts.keys()].find(({ files }) => files.test(path)) ?? OTHERS;

  #countOf = (path: string): Count => this.#counts.get(this.#thingOf(path)) ?? new Count();

  #cut(path: string): void {
    this.#countOf(path).isPartial = true;
  }

  async #add(path: string): Promise<void> {
    const count = this.#countOf(path);
    count.files += 1;
    if (count.files > this.#effort.mostFiles) return void (count.isPartial = true);
    this.#asking.push(this.#ask(path, count));
    if (this.#asking.length >= AT_ONCE) await this.end();
  }

  async #ask(path: string, count: Count): Promise<void> {
    // A file that is removed meanwhile has no size.
    const found = await lstat(join(this.#root, path)).catch(() => undefined);
    count.bytes += found?.size ?? 0;
  }
}

const BACKUPS = { name: "backups", keys: ["backup.keep", "backup.output"] };

/** The backups that the gateway makes by itself, which lie outside of the state directory. */
async function backups({ config: { backup }, env }: GrowthScene): Promise<GrowthRow> {
  const folder = expandHome(backup.output, env);
  const files = await backupsIn(folder);
  return {
    ...BACKUPS,
    path: folder,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    isPartial: false,
    bound: backup.every === 0 ? "none is made by itself; those that are there stay" : `the newest ${backup.keep}`,
    limitBytes: undefined,
    fix: "Keep fewer: openclaw config set backup.keep 3. Files of other names are yours.",
  };
}

/** Workspaces that lie elsewhere. */
async function outsideWorkspaces(
  { config, stateDir, home }: GrowthScene,
  effort: Effort,
): Promise<readonly GrowthRow[]> {
  const folders = new Set(resolveAgents(config, { home, stateDir }).map(({ workspace }) => workspace));
  const outside = [...folders].filter((folder) => !isInside(folder, stateDir));
  return Promise.all(
    outside.map(async (folder) => {
      const count = new Count();
      if (effort.isDeep) {
        const walk = new Walk(folder, effort, new Map([[OTHERS, count]]));
        await walk.enter("");
        await walk.end();
      }
      const workspace = GROWING.find(({ name }) => name === "workspaces") ?? OTHERS;
      const row = rowOf(workspace, { config, stateDir }, effort.isDeep ? count : undefined);
      return { ...row, path: folder };
    }),
  );
}

/** The things whose size is far beyond their bound, and those without one. */
export const excessOf = (all: readonly GrowthRow[]): readonly GrowthRow[] =>
  all.filter(
    ({ bound, bytes = 0, limitBytes }) => bound === undefined || (limitBytes !== undefined && bytes > limitBytes * FAR),
  );

/** A bound is kept once a day, and a file of the database keeps the space of rows that it no longer has. */
const FAR = 1.5;

/** The size of a thing for people. */
export function sizeOf({ bytes, isPartial }: GrowthRow): string {
  if (bytes === undefined) return "an unknown size";
  return `${isPartial ? "at least " : ""}${fileSizeText(bytes)}`;
}

/** The whole and its largest part, in one line. Undefined when nothing was counted. */
export function growthText(all: readonly GrowthRow[]): string | undefined {
  const [largest] = all.toSorted((one, other) => (other.bytes ?? 0) - (one.bytes ?? 0));
  if (!largest || (largest.bytes ?? 0) === 0) return undefined;
  const bytes = all.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
  const total = sizeOf({ ...largest, bytes, isPartial: all.some(({ isPartial }) => isPartial) });
  return `${total}, most of it ${largest.name} (${sizeOf(largest)})`;
}

/** A thing as clients see it. `bytes` is null where it was not counted, since there may be very many files. */
export const shownGrowth = ({ name, path, bytes, isPartial, bound, limitBytes, keys }: GrowthRow) => ({
  name,
  path,
  bytes: bytes ?? null,
  ...(isPartial && { atLeast: true }),
  bound: bound ?? null,
  ...(limitBytes !== undefined && { limitBytes }),
  keys: [...keys],
});
