import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Tool } from "../types/tool.ts";
import { defineTool, textResult } from "./define.ts";
import type { FileAccess } from "./paths.ts";

const MAX_ENTRIES = 500;

const input = z.object({
  path: z.string().default(".").describe("Directory; the workspace when left out"),
});

/** Lists one directory. */
export function lsTool(access: FileAccess): Tool {
  return defineTool({
    name: "ls",
    label: "List",
    description: "List a directory, hidden files too. Directories end with a slash, symbolic links with @.",
    input,
    hasSideEffects: false,
    async run({ path }, context) {
      const real = await access.locate(path, context.workspace, "read");
      const isOpen = await access.openPaths();
      const entries = (await readdir(real, { withFileTypes: true }))
        .filter((entry) => isOpen(join(real, entry.name)))
        .map((entry) => `${entry.name}${entry.isDirectory() ? "/" : ""}${entry.isSymbolicLink() ? "@" : ""}`)
        .toSorted();
      if (entries.length === 0) {
        return textResult("[The directory is empty.]");
      }
      const rest = entries.length > MAX_ENTRIES ? [`[${entries.length - MAX_ENTRIES} more]`] : [];
      return textResult([...entries.slice(0, MAX_ENTRIES), ...rest].join("\n"));
    },
  });
}
