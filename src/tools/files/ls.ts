import { z } from "zod";
import type { FileBackend, FolderEntry } from "../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { listedName } from "../shown-path.ts";

const MAX_ENTRIES = 500;
/** Entries that are examined: a directory may hold more than memory does. */
const MAX_READ = 20_000;

const input = z.object({
  path: z.string().default(".").describe("Directory; the workspace when left out"),
});

const SUFFIX: Readonly<Record<FolderEntry["kind"], string>> = { directory: "/", link: "@", file: "", other: "" };

const nameOf = ({ name, kind }: FolderEntry): string => `${listedName(name)}${SUFFIX[kind]}`;

function describe(entries: readonly FolderEntry[]): ToolResult {
  if (entries.length === 0) {
    return textResult("[The directory is empty.]");
  }
  const names = entries.map(nameOf).toSorted();
  const more = names.length > MAX_READ ? `more than ${MAX_READ - MAX_ENTRIES}` : String(names.length - MAX_ENTRIES);
  const rest = names.length > MAX_ENTRIES ? [`[${more} more]`] : [];
  return textResult([...names.slice(0, MAX_ENTRIES), ...rest].join("\n"));
}

/** Lists one directory. */
export function lsTool(files: FileBackend): Tool {
  return defineTool({
    name: "ls",
    label: "List",
    description: "List a directory, hidden files too. Directories end with a slash, symbolic links with @.",
    input,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: false,
    run: async ({ path }, { workspace, signal }) =>
      describe(await files.list(path, workspace, { most: MAX_READ, signal })),
  });
}
