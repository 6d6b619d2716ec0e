import { join } from "node:path";
import { z } from "zod";
import type { Tool, ToolContext } from "../../types/run/tool.ts";
import { defineTool, textResult } from "../define.ts";
import type { OpenFolder } from "./open.ts";
import { shownPath, type FileAccess } from "./paths.ts";
import { SEARCH_MS, searchFiles } from "./ripgrep.ts";
import { LATE, PARTIAL } from "./search-notes.ts";

const MAX_FILES = 100;

const input = z.object({
  pattern: z.string().min(1).describe("Glob for file names or paths, such as *.md or src/**/*.ts"),
  path: z.string().default(".").describe("Directory; the workspace when left out"),
  limit: z.int().min(1).max(1000).default(MAX_FILES).describe("Most files"),
});
type Wanted = z.output<typeof input>;

async function find(
  { pattern, limit }: Wanted,
  folder: OpenFolder,
  { workspace, signal }: ToolContext,
  isOpen: (path: string) => boolean,
): Promise<string> {
  const files: string[] = [];
  const take = (line: string): boolean => {
    const file = join(folder.path, line);
    if (isOpen(file)) {
      files.push(shownPath(file, workspace));
    }
    return files.length <= limit;
  };
  const { isLate, isPartial } = await searchFiles({
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
    take,
  });
  const notes = [
    ...(files.length > limit ? ["[There are more; narrow the pattern.]"] : []),
    ...(isPartial ? [PARTIAL] : []),
    ...(isLate ? [LATE] : []),
  ];
  return [...files.slice(0, limit).toSorted(), ...notes].join("\n") || "[Nothing found.]";
}

/** Finds files by name. */
export function findTool(access: FileAccess): Tool {
  return defineTool({
    name: "find",
    label: "Find",
    description: "Find files by a glob, at most 100 unless limit says more. Skips what .gitignore names, and .git.",
    input,
    hasSideEffects: false,
    async run(wanted, context) {
      const isOpen = await access.openPaths();
      const folder = await access.openFolder(wanted.path, context.workspace);
      try {
        return textResult(await find(wanted, folder, context, isOpen));
      } finally {
        await folder.close();
      }
    },
  });
}
