import { constants, type Dirent } from "node:fs";
import { copyFile, link, lstat, opendir, rename, rm, unlink, writeFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  AccessMode,
  FileBackend,
  FileQuery,
  FolderEntry,
  FoundLine,
  ListBounds,
  NewFile,
  ReadableFile,
  SearchEnd,
  SearchScope,
  TextQuery,
} from "../../types/run/backend.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import type { FileAccess } from "./access.ts";
import { keepResult } from "./command/kept-outputs.ts";
import { draftName, removeLeftDrafts } from "./drafts.ts";
import { shapesPrompts } from "./prompt-files.ts";
import { listedName, shownPath } from "../shown-path.ts";
import { runRipgrep, SEARCH_MS } from "./ripgrep.ts";

/** Files of the gateway's machine, within the access rules of a run. */
export class HostFiles implements FileBackend {
  readonly #access: FileAccess;

  readonly #outputDir: string;

  /** Long results are kept in `outputDir`, which the rules must let tools read. */
  constructor(access: FileAccess, outputDir: string) {
    this.#access = access;
    this.#outputDir = outputDir;
  }

  locate(path: string, workspace: string, mode: AccessMode): Promise<string> {
    return this.#access.locate(path, workspace, mode);
  }

  open(path: string, workspace: string): Promise<ReadableFile> {
    return this.#access.openFile(path, workspace);
  }

  /**
   * Replaces or creates a file. Readers see the old or the new content, never a part, and an error leaves no draft. The
   * directory is opened and checked first, so that a link that replaces it meanwhile has no effect. Drafts of a process
   * that was killed are removed.
   */
  async replace(
    { path, content }: { readonly path: string; readonly content: string },
    workspace: string,
  ): Promise<void> {
    const { folder, name } = await this.#access.openParent(path, workspace);
    const file = folder.at(name);
    const draft = folder.at(draftName());
    try {
      await removeLeftDrafts(folder);
      const mode = await modeOf(file, path);
      await writeFile(draft, content, mode === undefined ? { flag: "wx" } : { flag: "wx", mode });
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await folder.close();
    }
  }

  async exists(path: string, workspace: string): Promise<boolean> {
    const wanted = await this.#access.locateNew(path, workspace);
    return (await unlessMissing(lstat(wanted))) !== undefined;
  }

  /** Creates a file. Its content is complete when the name appears. */
  async create({ path, content, mode }: NewFile, workspace: string): Promise<void> {
    const { folder, name } = await this.#access.openParentOfNew(path, workspace);
    const draft = folder.at(draftName());
    try {
      await removeLeftDrafts(folder);
      await writeFile(draft, content, { flag: "wx", ...(mode !== undefined && { mode: mode & 0o777 }) });
      await giveName(draft, folder.at(name));
    } catch (error) {
      throw errorCode(error) === "EEXIST" ? new Error(`${path} exists already.`, { cause: error }) : error;
    } finally {
      await rm(draft, { force: true });
      await folder.close();
    }
  }

  async remove(path: string, workspace: string): Promise<void> {
    const { folder, name } = await this.#access.openParentOfEntry(path, workspace);
    try {
      const found = await lstat(folder.at(name));
      if (!found.isFile() && !found.isSymbolicLink())
        throw new Error(
          `${path} is ${found.isDirectory() ? "a directory" : "not a regular file"}; it was not removed.`,
        );
      await unlink(folder.at(name));
    } finally {
      await folder.close();
    }
  }

  async shapesTurns(path: string, workspace: string): Promise<boolean> {
    const real = await this.#access.locate(path, workspace, "write");
    return shapesPrompts(real, { workspaces: [workspace], roots: [] });
  }

  confined(): FileBackend {
    return new HostFiles(this.#access.confined(), this.#outputDir);
  }

  keep(text: string): Promise<string> {
    return keepResult(text, this.#outputDir);
  }

  /**
   * Lists a directory. Each entry is checked when it is read, because checking thousands at once would block all chats.
   */
  async list(path: string, workspace: string, { most, signal }: ListBounds): Promise<readonly FolderEntry[]> {
    const isOpen = await this.#access.openPaths();
    const folder = await this.#access.openFolder(path, workspace);
    try {
      const entries: FolderEntry[] = [];
      let read = 0;
      for await (const entry of await opendir(folder.base, { bufferSize: 256 })) {
        if (isOpen(join(folder.path, entry.name))) entries.push({ name: entry.name, kind: kindOf(entry) });
        read += 1;
        if (read > most || signal.aborted) break;
      }
      return entries;
    } finally {
      await folder.close();
    }
  }

  findFiles(query: FileQuery, scope: SearchScope, take: (path: string) => boolean): Promise<SearchEnd> {
    return findFiles(query, this.#access, { ...scope, take });
  }

  searchText(query: TextQuery, scope: SearchScope, take: (line: FoundLine) => boolean): Promise<SearchEnd> {
    return new TextSearch(query, this.#access, { ...scope, take }).run();
  }
}

/** Gives a file its final name. Unlike a rename it never replaces a file, nor a link. */
async function giveName(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    if (!NO_HARD_LINKS.has(errorCode(error) ?? "")) throw error;
    await copyFile(draft, file, constants.COPYFILE_EXCL);
  }
}

/** Errors of file systems without hard links, such as those of Android and of memory cards. */
const NO_HARD_LINKS = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** The mode of an existing file. A link is replaced, not followed. Throws for any path that is no file. */
async function modeOf(file: string, path: string): Promise<number | undefined> {
  const found = await unlessMissing(lstat(file));
  if (found === undefined || found.isSymbolicLink()) return undefined;
  if (!found.isFile()) throw new Error(`${path} is ${found.isDirectory() ? "a directory" : "not a regular file"}.`);
  return found.mode & 0o777;
}

function kindOf(entry: Dirent): FolderEntry["kind"] {
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  return entry.isFile() ? "file" : "other";
}

/** Finds files by name with ripgrep. Skips `.git`, ignored files and kept command outputs. */
async function findFiles(
  { path, pattern }: FileQuery,
  access: FileAccess,
  { workspace, signal, take }: SearchScope & { take(path: string): boolean },
): Promise<SearchEnd> {
  const isOpen = await access.openPaths();
  const folder = await access.openFolder(path, workspace);
  try {
    return await runRipgrep({
      args: [
        "--files",
        "--null",
        "--hidden",
        `--glob=${pattern}`,
        "--glob=!.git",
        "--glob=!.openclaw/output",
        "--",
        "./",
      ],
      over: { cwd: folder.base },
      separator: "\0",
      signal,
      deadline: AbortSignal.timeout(SEARCH_MS),
      take(line) {
        const file = join(folder.path, line);
        return isOpen(file) ? take(listedName(shownPath(file, workspace))) : true;
      },
    });
  } finally {
    await folder.close();
  }
}

/** Most bytes of one line: 500 characters of at most four bytes each. */
const MAX_COLUMN_BYTES = 4 * 500;
/** Most bytes of a searched file, since one line of that length must fit into ripgrep's memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

interface Scope extends SearchScope {
  take(line: FoundLine): boolean;
}

// Undefined for ripgrep's remark about a file with a NUL character, which has no number.
function parseLine(path: string, record: string): FoundLine | undefined {
  const { number, mark, text } = /^(?<number>\d+)(?<mark>[:-])(?<text>.*?)\r?$/s.exec(record)?.groups ?? {};
  return number === undefined || mark === undefined || text === undefined ? undefined : { path, number, mark, text };
}

const patternArgs = ({ pattern, ignoreCase, literal }: TextQuery): readonly string[] => [
  ...(ignoreCase ? ["--ignore-case"] : []),
  ...(literal ? ["--fixed-strings"] : []),
  `--regexp=${pattern}`,
];

/** A search: finds the files with matches, then the lines of each that may be shown. */
class TextSearch {
  readonly #query: TextQuery;
  readonly #access: FileAccess;
  readonly #scope: Scope;
  readonly #deadline = AbortSignal.timeout(SEARCH_MS);
  #isFull = false;
  #isLate = false;
  #isPartial = false;

  constructor(query: TextQuery, access: FileAccess, scope: Scope) {
    this.#query = query;
    this.#access = access;
    this.#scope = scope;
  }

  async run(): Promise<SearchEnd> {
    const { path } = this.#query;
    const target = await this.#access.locate(path, this.#scope.workspace, "read");
    await ((await stat(target)).isDirectory() ? this.#searchFolder(path) : this.#searchFile(path, target));
    return { isLate: this.#isLate, isPartial: this.#isPartial };
  }

  async #searchFolder(path: string): Promise<void> {
    for (const file of await this.#filesWithMatches(path)) {
      if (this.#isFull || this.#scope.signal.aborted) return;
      await this.#searchFile(file, file).catch(() => {
        // The file was removed or changed, or is closed to tools under another name.
        this.#isPartial = true;
      });
    }
  }

  /** Finds names only: the content is checked once a file is open. */
  async #filesWithMatches(path: string): Promise<readonly string[]> {
    const { glob, limit } = this.#query;
    const isOpen = await this.#access.openPaths();
    const folder = await this.#access.openFolder(path, this.#scope.workspace);
    const files: string[] = [];
    try {
      await this.#search({
        args: [
          "--files-with-matches",
          "--null",
          "--hidden",
          `--max-filesize=${MAX_FILE_BYTES}`,
          "--threads=2",
          ...(glob === undefined ? [] : [`--glob=${glob}`]),
          "--glob=!.git",
          "--glob=!.openclaw/output",
          ...patternArgs(this.#query),
          "--",
          "./",
        ],
        over: { cwd: folder.base },
        separator: "\0",
        take(record) {
          const file = join(folder.path, record);
          if (isOpen(file)) files.push(file);
          return files.length <= limit;
        },
      });
      return files;
    } finally {
      await folder.close();
    }
  }

  async #searchFile(path: string, real: string): Promise<void> {
    const { context, limit } = this.#query;
    const shown = listedName(shownPath(real, this.#scope.workspace));
    const file = await this.#access.openFile(path, this.#scope.workspace);
    try {
      if ((await file.stat()).size > MAX_FILE_BYTES) throw new Error(`${path} is larger than 64 MB.`);
      await this.#search({
        args: [
          "--line-number",
          "--no-filename",
          "--no-context-separator",
          `--max-count=${limit + 1}`,
          `--max-columns=${MAX_COLUMN_BYTES}`,
          "--max-columns-preview",
          ...(context === undefined ? [] : [`--context=${context}`]),
          ...patternArgs(this.#query),
          "--",
          "-",
        ],
        over: { stdin: file.fd },
        separator: "\n",
        take: (record) => this.#take(shown, record),
      });
    } finally {
      await file.close();
    }
  }

  #take(path: string, record: string): boolean {
    const line = parseLine(path, record);
    this.#isFull ||= line !== undefined && !this.#scope.take(line);
    return !this.#isFull;
  }

  async #search(search: Pick<Parameters<typeof runRipgrep>[0], "args" | "over" | "separator" | "take">) {
    const { signal } = this.#scope;
    const end = await runRipgrep({ ...search, signal, deadline: this.#deadline });
    this.#isLate ||= end.isLate;
    this.#isPartial ||= end.isPartial;
  }
}
