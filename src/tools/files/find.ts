import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool, ToolContext } from "../../types/run/tool.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { SEARCH_ENDED, PARTIAL } from "./search-notes.ts";

const MAX_FILES = 1000;

const input = z.lazy(() =>
  z.object({
    pattern: z.string().min(1).describe("Glob for file names or paths, such as *.md or src/**/*.ts"),
    path: z.string().default(".").describe("Directory; the workspace when left out"),
    limit: z.int().min(1).max(10_000).default(MAX_FILES).describe("Most files"),
  }),
);
type Wanted = z.output<typeof input>;

async function find(
  { pattern, path, limit }: Wanted,
  files: FileBackend,
  { workspace, signal }: ToolContext,
): Promise<string> {
  const found: string[] = [];
  const take = (file: string): boolean => {
    found.push(file);
    return found.length <= limit;
  };
  const { isLate, isPartial } = await files.findFiles({ path, pattern }, { workspace, signal }, take);
  const notes = [
    ...(found.length > limit ? ["[There are more; narrow the pattern.]"] : []),
    ...(isPartial ? [PARTIAL] : []),
    ...(isLate ? [SEARCH_ENDED] : []),
  ];
  return [...found.slice(0, limit).toSorted(), ...notes].join("\n") || "[Nothing found.]";
}

/** The tool `find`: finds files by name. */
export function findTool(files: FileBackend): Tool {
  return defineTool({
    name: "find",
    label: "Find",
    description: "Find files by a glob, at most 1,000 unless limit says more. Skips what .gitignore names, and .git.",
    input,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: false,
    run: async (wanted, context) => textResult(await find(wanted, files, context)),
  });
}
