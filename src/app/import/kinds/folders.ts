import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { copyFile, lstat, mkdir, readdir, readlink, rename, rm, symlink, utimes } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { makePrivateDir } from "../../../store/disk.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";
import { listedAgents } from "../../config/keys/agent-key.ts";
import { valueAt } from "../../config/schema/problem.ts";
import type { ImportKind, Item, KindPlan, Left, Target } from "../frame/kind.ts";
import type { ItemOutcome, ItemReceipt } from "../frame/receipts.ts";
import type { ImportSource } from "../frame/source.ts";
import { placeHere } from "./config.ts";

/**
 * Workspaces with their notes, skills, and hook folders. What is here stays: a file of the same name is only replaced while a folder is as an
 * import has left it. The index of notes is made anew from the files.
 */
export const foldersKind: ImportKind = {
  id: "folders",
  title: "Workspaces, skills and hooks",
  async plan(from, to): Promise<KindPlan> {
    const found = [
      ...(await workspacesOf(from, to)),
      ...(await foldersBelow("skills", from)),
      ...(await foldersBelow("hooks", from)),
    ];
    const items: Item[] = [];
    for (const place of found) {
      const files = await filesIn(join(from.dir, place));
      if (files.length > 0) items.push(itemFor(place, files, from));
    }
    return { items, left: elsewhere(from, to) };
  },
};

export interface GivenFile {
  /** The path below the folder, for people where `bytes` has it. */
  readonly name: string;
  /** The path below the folder, when it is not UTF-8. */
  readonly bytes?: Buffer;
  readonly size: number;
  readonly mtimeMs: number;
  readonly isLink: boolean;
}

function itemFor(place: string, files: readonly GivenFile[], from: ImportSource): Item {
  return {
    id: place,
    name: place,
    version: markOf(files),
    notes: place.startsWith("hooks/")
      ? [
          `its code runs from the next start on, where the config has hooks on; to stop it: openclaw hooks disable ${basename(place)}`,
        ]
      : [],
    take: ({ paths }, before) =>
      takeFolder(place, { files, from: join(from.dir, place), to: join(paths.stateDir, place), before }),
  };
}

interface Copying {
  readonly files: readonly GivenFile[];
  /** The folder in the source, and here. */
  readonly from: string;
  readonly to: string;
  readonly before: ItemReceipt | undefined;
}

/** Copies the files that are not here yet. `place`: the folder's name in the receipt. */
export async function takeFolder(place: string, { files, from, to, before }: Copying): Promise<ItemOutcome> {
  const there = new Map((await filesIn(to)).map((file) => [file.name, file]));
  const isUntouched = before?.mark !== undefined && before.mark === markOf([...there.values()]);
  const kept: string[] = [];
  for (const file of files) {
    const known = there.get(file.name);
    if (known && isSame(known, file)) continue;
    if (known && !isUntouched) kept.push(file.name);
    else await copyOne(from, to, file);
  }
  const notes = kept.length === 0 ? [] : [`${kept.length} files are here already and stay, such as ${kept[0]}`];
  return { made: place, notes, mark: markOf(await filesIn(to)) };
}

/** The file appears in the folder `to` with all of its content, and with the time of the original. */
async function copyOne(from: string, to: string, { name, bytes, isLink, mtimeMs }: GivenFile): Promise<void> {
  const source = bytes ? below(from, bytes) : join(from, name);
  const target = bytes ? below(to, bytes) : join(to, name);
  const draft = bytes ? Buffer.concat([below(to, bytes), Buffer.from(DRAFT)]) : `${target.toString()}${DRAFT}`;
  await makePrivateDir(bytes ? to : dirname(join(to, name)));
  if (bytes) await mkdir(below(to, bytes.subarray(0, bytes.lastIndexOf("/") + 1)), { recursive: true, mode: 0o700 });
  await rm(draft, { force: true });
  if (isLink) await symlink(await readlink(source, { encoding: "buffer" }), draft);
  else {
    await copyFile(source, draft);
    await utimes(draft, new Date(), new Date(mtimeMs));
  }
  await rename(draft, target);
}

const DRAFT = ".importing";

const below = (folder: string, path: Buffer): Buffer => Buffer.concat([Buffer.from(`${folder}/`), path]);

const isSame = (one: GivenFile, other: GivenFile): boolean =>
  one.size === other.size && one.isLink === other.isLink && (one.isLink || Math.abs(one.mtimeMs - other.mtimeMs) < 2);

/** A mark of the names, sizes and times of files. */
export const markOf = (files: readonly GivenFile[]): string => {
  const facts = files
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, size, mtimeMs, isLink }) => [name, size, isLink ? 0 : Math.round(mtimeMs)]);
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
};

/** Files and links below a folder. Sockets and pipes of programs are none. */
async function filesIn(dir: string, above = Buffer.alloc(0)): Promise<readonly GivenFile[]> {
  const reading = readdir(below(dir, above), { withFileTypes: true, encoding: "buffer" });
  const found: GivenFile[] = [];
  for (const entry of (await unlessMissing(reading)) ?? []) {
    const path = Buffer.concat([above, entry.name]);
    if (entry.isDirectory()) found.push(...(await filesIn(dir, Buffer.concat([path, Buffer.from("/")]))));
    else if (entry.isFile() || entry.isSymbolicLink()) {
      const { size, mtimeMs } = await lstat(below(dir, path));
      const name = isUtf8(path) ? join(path.toString()) : path.toString("latin1");
      found.push({ name, size, mtimeMs, isLink: entry.isSymbolicLink(), ...(!isUtf8(path) && { bytes: path }) });
    }
  }
  return found;
}

const foldersBelow = async (folder: string, { dir }: ImportSource): Promise<readonly string[]> =>
  ((await unlessMissing(readdir(join(dir, folder), { withFileTypes: true }))) ?? [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name));

/** The workspaces that the config names inside of the source, and those with their usual names. */
async function workspacesOf(from: ImportSource, to: Target): Promise<readonly string[]> {
  const usual = ((await unlessMissing(readdir(from.dir))) ?? []).filter((name) =>
    /^workspace(?:-[\w.-]+)?$/.test(name),
  );
  const named = namedIn(from.value).flatMap((path) => {
    const here = placeHere(path, from, to);
    return here === path ? [] : [relative(to.paths.stateDir, here)];
  });
  return [...new Set([...usual, ...named])].filter(
    (place) => place !== "" && isInside(join(from.dir, place), from.dir),
  );
}

function elsewhere(from: ImportSource, to: Target): readonly Left[] {
  return namedIn(from.value)
    .filter((path) => placeHere(path, from, to) === path)
    .map((name) => ({ name, why: "it lies outside of the imported directory and stays there; both programs use it" }));
}

function namedIn(value: unknown): readonly string[] {
  const all = [valueAt(value, ["agents", "defaults"]), ...listedAgents(value).map(({ entry }) => entry)];
  const paths = all.map((entry): unknown => valueAt(entry, ["workspace"]));
  return [...new Set(paths.filter((path) => typeof path === "string"))];
}
