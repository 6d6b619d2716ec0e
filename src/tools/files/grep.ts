import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Tool, ToolContext } from "../../types/run/tool.ts";
import { CONTENT_BYTES } from "../cap.ts";
import { defineTool, textResult } from "../define.ts";
import { shownPath, type FileAccess } from "./paths.ts";
import { SEARCH_MS, searchFiles } from "./ripgrep.ts";
import { LATE, PARTIAL } from "./search-notes.ts";

const MAX_MATCHES = 100;
const MAX_COLUMNS = 500;
/** A character of UTF-8 has at most four bytes. */
const MAX_COLUMN_BYTES = 4 * MAX_COLUMNS;
/** Bytes of a file that is searched: one line of that length must fit into ripgrep's memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MORE = "[There is more; narrow the search.]";

const input = z.object({
  pattern: z.string().min(1).describe("Regular expression (Rust syntax), or plain text with literal"),
  path: z.string().default(".").describe("File or directory; the workspace when left out"),
  glob: z.string().min(1).optional().describe("Only files that match, such as *.ts; paths start at path"),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional().describe("Take the pattern as plain text"),
  context: z.int().min(0).max(20).optional().describe("Lines to show around each match"),
  limit: z.int().min(1).max(MAX_MATCHES).default(MAX_MATCHES).describe("Most matches"),
});
type Wanted = z.output<typeof input>;

/** The lines that were found, within the limits. */
class Findings {
  readonly #lines: string[] = [];
  readonly #limit: number;
  readonly notes = new Set<string>();
  #matches = 0;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when it is full. */
  add(path: string, { number, mark, text }: FoundLine): boolean {
    const shown = text.length > MAX_COLUMNS ? `${text.slice(0, MAX_COLUMNS)}…` : text;
    const line = `${path}${mark}${number}${mark} ${shown}`;
    this.#matches += Number(mark === ":");
    this.#bytes += Buffer.byteLength(line) + 1;
    if (this.#matches > this.#limit || this.#bytes > CONTENT_BYTES) {
      this.notes.add(MORE);
      return false;
    }
    this.#lines.push(line);
    return true;
  }

  get isFull(): boolean {
    return this.notes.has(MORE);
  }

  toString(): string {
    return [...this.#lines, ...this.notes].join("\n") || "[Nothing found.]";
  }
}

interface FoundLine {
  readonly number: string;
  /** `:` of a match, `-` of a line around it. */
  readonly mark: string;
  readonly text: string;
}

// A file with a NUL character gets a remark without a number in place of its lines.
function parseLine(record: string): FoundLine | undefined {
  const { number, mark, text } = /^(?<number>\d+)(?<mark>[:-])(?<text>.*?)\r?$/s.exec(record)?.groups ?? {};
  return number === undefined || mark === undefined || text === undefined ? undefined : { number, mark, text };
}

const patternArgs = ({ pattern, ignoreCase, literal }: Wanted): readonly string[] => [
  ...(ignoreCase === true ? ["--ignore-case"] : []),
  ...(literal === true ? ["--fixed-strings"] : []),
  `--regexp=${pattern}`,
];

/** One call of the tool: which files have matches, and then the lines of each that may be shown. */
class Grep {
  readonly #wanted: Wanted;
  readonly #access: FileAccess;
  readonly #context: ToolContext;
  readonly #findings: Findings;
  readonly #deadline = AbortSignal.timeout(SEARCH_MS);

  constructor(wanted: Wanted, access: FileAccess, context: ToolContext) {
    this.#wanted = wanted;
    this.#access = access;
    this.#context = context;
    this.#findings = new Findings(wanted.limit);
  }

  async run(): Promise<string> {
    const { path } = this.#wanted;
    const target = await this.#access.locate(path, this.#context.workspace, "read");
    if ((await stat(target)).isDirectory()) {
      await this.#searchFolder(path);
    } else {
      await this.#searchFile(path, target);
    }
    return String(this.#findings);
  }

  async #searchFolder(path: string): Promise<void> {
    for (const file of await this.#filesWithMatches(path)) {
      if (this.#findings.isFull || this.#context.signal.aborted) return;
      // Gone or changed since, or a second name of a file that is closed to tools.
      await this.#searchFile(file, file).catch(() => this.#findings.notes.add(PARTIAL));
    }
  }

  /** Names alone: whether what is in a file may be shown is known once it is open. */
  async #filesWithMatches(path: string): Promise<readonly string[]> {
    const { glob, limit } = this.#wanted;
    const isOpen = await this.#access.openPaths();
    const folder = await this.#access.openFolder(path, this.#context.workspace);
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
          ...patternArgs(this.#wanted),
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
    const { context, limit } = this.#wanted;
    const shown = shownPath(real, this.#context.workspace);
    const file = await this.#access.openFile(path, this.#context.workspace);
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
          ...patternArgs(this.#wanted),
          "--",
          "-",
        ],
        over: { stdin: file.fd },
        separator: "\n",
        take: (record) => {
          const line = parseLine(record);
          return line === undefined || this.#findings.add(shown, line);
        },
      });
    } finally {
      await file.close();
    }
  }

  async #search(search: Pick<Parameters<typeof searchFiles>[0], "args" | "over" | "separator" | "take">) {
    const { signal } = this.#context;
    const { isLate, isPartial } = await searchFiles({ ...search, signal, deadline: this.#deadline });
    if (isPartial) this.#findings.notes.add(PARTIAL);
    if (isLate) this.#findings.notes.add(LATE);
  }
}

/** Searches text in files. */
export function grepTool(access: FileAccess): Tool {
  return defineTool({
    name: "grep",
    label: "Grep",
    description:
      "Search text in files, at most 100 matches. Skips what .gitignore names, .git, and files of more than 64 MB.",
    input,
    hasSideEffects: false,
    run: async (wanted, context) => textResult(await new Grep(wanted, access, context).run()),
  });
}
