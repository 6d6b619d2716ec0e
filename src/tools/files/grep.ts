import { z } from "zod";
import type { FileBackend, FoundLine } from "../../types/run/backend.ts";
import type { Tool, ToolContext } from "../../types/run/tool.ts";
import { CONTENT_BYTES } from "../cap.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { SEARCH_ENDED, PARTIAL } from "./search-notes.ts";

const MATCHES = 100;
const MAX_MATCHES = 2000;
const MAX_COLUMNS = 500;
const MORE = "[There is more; narrow the search.]";

const input = z.lazy(() =>
  z.object({
    pattern: z.string().min(1).describe("Regular expression (Rust syntax), or plain text with literal"),
    path: z.string().default(".").describe("File or directory; the workspace when left out"),
    glob: z.string().min(1).optional().describe("Only files that match, such as *.ts; paths start at path"),
    ignoreCase: z.boolean().optional(),
    literal: z.boolean().optional().describe("Take the pattern as plain text"),
    context: z.int().min(0).max(20).optional().describe("Lines to show around each match"),
    limit: z.int().min(1).max(MAX_MATCHES).default(MATCHES).describe("Most matches"),
  }),
);
type Wanted = z.output<typeof input>;

/** Collects the found lines, within the limits. */
class Findings {
  readonly #lines: string[] = [];
  readonly #limit: number;
  #matches = 0;
  #bytes = 0;
  #isFull = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a line. False when no more lines fit. */
  add({ path, number, mark, text }: FoundLine): boolean {
    const shown = text.length > MAX_COLUMNS ? `${text.slice(0, MAX_COLUMNS)}…` : text;
    const line = `${path}${mark}${number}${mark} ${shown}`;
    this.#matches += Number(mark === ":");
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#isFull = this.#matches > this.#limit || this.#bytes > CONTENT_BYTES;
    if (!this.#isFull) this.#lines.push(line);
    return !this.#isFull;
  }

  text({ isPartial, isLate }: { isPartial: boolean; isLate: boolean }): string {
    const notes = [...(this.#isFull ? [MORE] : []), ...(isPartial ? [PARTIAL] : []), ...(isLate ? [SEARCH_ENDED] : [])];
    return [...this.#lines, ...notes].join("\n") || "[Nothing found.]";
  }
}

async function grep(wanted: Wanted, files: FileBackend, { workspace, signal }: ToolContext): Promise<string> {
  const { literal = false, ignoreCase = false, ...query } = wanted;
  const findings = new Findings(wanted.limit);
  const scope = { workspace, signal };
  return findings.text(await files.searchText({ ...query, literal, ignoreCase }, scope, (line) => findings.add(line)));
}

/** The tool `grep`: searches text in files. */
export function grepTool(files: FileBackend): Tool {
  return defineTool({
    name: "grep",
    label: "Grep",
    description:
      "Search text in files, at most 100 matches unless limit says more. Skips what .gitignore names, .git, and files of more than 64 MB.",
    input,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: false,
    run: async (wanted, context) => textResult(await grep(wanted, files, context)),
  });
}
