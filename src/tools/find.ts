import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Tool } from "../types/tool.ts";
import { defineTool, textResult } from "./define.ts";
import { shownPath, type FileAccess } from "./paths.ts";
import { searchFiles } from "./ripgrep.ts";

const MAX_FILES = 100;

const input = z.object({
  pattern: z.string().min(1).describe("Glob for file names or paths, such as *.md or src/**/*.ts"),
  path: z.string().default(".").describe("Directory; the workspace when left out"),
  limit: z.int().min(1).max(1000).default(MAX_FILES).describe("Most files"),
});

/** Finds files by name. */
export function findTool(access: FileAccess): Tool {
  return defineTool({
    name: "find",
    label: "Find",
    description: "Find files by a glob, at most 100 unless limit says more. Skips what .gitignore names, and .git.",
    input,
    hasSideEffects: false,
    async run({ pattern, path, limit }, context) {
      const directory = await access.locate(path, context.workspace, "read");
      if (!(await stat(directory)).isDirectory()) {
        throw new Error(`${path} is not a directory.`);
      }
      const isOpen = await access.openPaths();
      const files: string[] = [];
      const take = (line: string): boolean => {
        const file = join(directory, line);
        if (isOpen(file)) {
          files.push(shownPath(file, context.workspace));
        }
        return files.length <= limit;
      };
      const args = ["--files", "--hidden", `--glob=${pattern}`, "--glob=!.git", "--glob=!.openclaw/output"];
      await searchFiles({ args, cwd: directory, signal: context.signal, take });
      const rest = files.length > limit ? ["[There are more; narrow the pattern.]"] : [];
      return textResult([...files.slice(0, limit).toSorted(), ...rest].join("\n") || "[Nothing found.]");
    },
  });
}
