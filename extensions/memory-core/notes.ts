import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, type Dirent } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** The file of lasting notes. */
export const CURATED = "MEMORY.md";
const FOLDER = "memory";
/** Bytes; a larger file is no note. */
const MOST_BYTES = 4_000_000;
/** The version of the file that a name had when it was looked at. */
export interface NoteFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly version: string;
  /** Bytes, and epoch milliseconds of the last change; unset for a folder and for a conversation. */
  readonly size?: number;
  readonly updatedAtMs?: number;
  /** Why the note is not read. */
  readonly leftOut?: "too large" | "not readable";
}

/** Whether a path is that of a note: `MEMORY.md`, or a Markdown file in `memory/`. */
const isNotePath = (path: string): boolean =>
  path === CURATED ||
  (path.startsWith(`${FOLDER}/`) &&
    path.endsWith(".md") &&
    !path.split("/").some((part) => part === ".." || part.startsWith(".")));

/** Where notes are. All paths are absolute. */
export interface NotePlaces {
  readonly workspace: string;
  /** Further Markdown files, and folders of Markdown files. */
  readonly extra?: readonly string[];
}

/**
 * All notes. Links are no notes: they could lead to any file of the machine. A folder that cannot be read is listed as
 * a note that is left out.
 */
export function noteFiles({ workspace, extra = [] }: NotePlaces): readonly NoteFile[] {
  const more = extra.flatMap(markdownAt).map((path) => shownPath(workspace, path));
  return [...new Set([CURATED, ...markdownIn(workspace, FOLDER), ...more])].flatMap((path): readonly NoteFile[] => {
    if (path.endsWith("/")) return [{ path, version: "", leftOut: "not readable" }];
    const stat = lstatSync(resolve(workspace, path), { throwIfNoEntry: false, bigint: true });
    if (!stat?.isFile()) return [];
    const version = `${stat.mtimeNs} ${stat.ctimeNs} ${stat.size} ${stat.ino}`;
    const facts = { size: Number(stat.size), updatedAtMs: Number(stat.mtimeMs) };
    return [{ path, version, ...facts, ...(stat.size > MOST_BYTES && { leftOut: "too large" }) }];
  });
}

/** The Markdown file at a path, or the Markdown files in a folder, as absolute paths. */
function markdownAt(path: string): readonly string[] {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return path.endsWith(".md") ? [path] : [];
  return markdownIn(dirname(path), basename(path)).map((name) => `${dirname(path)}/${name}`);
}

/** Relative in the workspace, absolute elsewhere. */
const shownPath = (workspace: string, path: string): string =>
  path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;

/** Paths that look like notes and are not searched: links, and files that are too large. */
export function leftOutNotes(workspace: string): readonly string[] {
  const known = new Set(noteFiles({ workspace }).flatMap(({ path, leftOut }) => (leftOut ? [] : path)));
  const isThere = (path: string) => lstatSync(join(workspace, path), { throwIfNoEntry: false }) !== undefined;
  return [CURATED, ...linksIn(workspace, FOLDER), ...markdownIn(workspace, FOLDER)].filter(
    (path) => !known.has(path) && isThere(path),
  );
}

/** Links to notes and to folders of notes; a link to a folder is not followed. */
function linksIn(workspace: string, folder: string): readonly string[] {
  const stat = lstatSync(join(workspace, folder), { throwIfNoEntry: false });
  if (stat?.isSymbolicLink() === true) return [folder];
  if (!stat?.isDirectory()) return [];
  return (entriesOf(join(workspace, folder)) ?? []).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.name.startsWith(".")) return [];
    if (entry.isDirectory()) return linksIn(workspace, path);
    return entry.isSymbolicLink() ? [path] : [];
  });
}

/** Undefined for a folder that cannot be read. */
function entriesOf(folder: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error ? String(error.code) : undefined;

/** Ends with `/`: a folder that cannot be read. */
function markdownIn(workspace: string, folder: string): readonly string[] {
  const stat = lstatSync(join(workspace, folder), { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return [];
  const entries = entriesOf(join(workspace, folder));
  if (!entries) return [`${folder}/`];
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) return [];
      if (entry.isDirectory()) return markdownIn(workspace, path);
      return entry.isFile() && entry.name.endsWith(".md") ? [path] : [];
    });
}

/** Errors for names that no note has: there is nothing, a link, a file in place of a folder, or a name that is too long. */
const NO_NOTE = new Set(["ENOENT", "ELOOP", "ENOTDIR", "ENAMETOOLONG"]);

/**
 * The text of a note; undefined when there is no such note, or when the note or one of its folders is a link. Throws
 * when it may not be read.
 */
export function readNoteText(places: NotePlaces, path: string): string | undefined {
  const note = path.includes("\0") ? undefined : noteAt(places, path);
  if (!note) return undefined;
  let file: number;
  try {
    if (hasLink(note.base, note.below)) return undefined;
    file = openSync(join(note.base, note.below), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (NO_NOTE.has(codeOf(error) ?? "")) return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(file);
    return stat.isFile() && stat.size <= MOST_BYTES ? readFileSync(file, "utf8") : undefined;
  } finally {
    closeSync(file);
  }
}

/** A note below the folder up to which links are not looked for; undefined for a path that is none of a note. */
function noteAt({ workspace, extra = [] }: NotePlaces, path: string): { base: string; below: string } | undefined {
  if (isNotePath(path)) return { base: workspace, below: path };
  const file = resolve(workspace, path);
  if (shownPath(workspace, file) !== path || !path.endsWith(".md")) return undefined;
  const root = extra.find((one) => file === one || file.startsWith(`${one}/`));
  if (root === undefined) return undefined;
  const below = file.slice(root.length + 1);
  return below.split("/").some((part) => part.startsWith("."))
    ? undefined
    : { base: dirname(root), below: file.slice(dirname(root).length + 1) };
}

function hasLink(workspace: string, path: string): boolean {
  const parts = path.split("/").slice(0, -1);
  return parts.some((_part, index) => {
    const folder = join(workspace, ...parts.slice(0, index + 1));
    return lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  });
}
