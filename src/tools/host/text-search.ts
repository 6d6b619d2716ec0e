import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { FoundLine, SearchEnd, SearchScope, TextQuery } from "../../types/run/backend.ts";
import { listedName, shownPath } from "../shown-path.ts";
import type { FileAccess } from "./access.ts";
import { runRipgrep, SEARCH_MS } from "./ripgrep.ts";

/** Most bytes of one line: 500 characters of at most four bytes each. */
const MAX_COLUMN_BYTES = 4 * 500;
/** Most bytes of a searched file, since one line of that length must fit into ripgrep's memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

interface Scope extends SearchScope {
  take(line: FoundLine): boolean;
}

// For a file with a NUL character ripgrep prints a remark without a number.
function parseLine(path: string, record: string): FoundLine | undefined {
  const { number, mark, text } = /^(?<number>\d+)(?<mark>[:-])(?<text>.*?)\r?$/s.exec(record)?.groups ?? {};
  return number === undefined || mark === undefined || text === undefined ? undefined : { path, number, mark, text };
}

const patternArgs = ({ pattern, ignoreCase, literal }: TextQuery): readonly string[] => [
  ...(ignoreCase ? ["--ignore-case"] : []),
  ...(literal ? ["--fixed-strings"] : []),
  `--regexp=${pattern}`,
];

/** One search: finds the files with matches, then the lines of each that may be shown. */
export class TextSearch {
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

  /** Finds names only: whether a file's content may be shown is known once it is open. */
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
