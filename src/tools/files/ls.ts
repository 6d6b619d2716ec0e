import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { defineTool, textResult } from "../define.ts";
import type { FileAccess } from "./paths.ts";

const MAX_ENTRIES = 500;
/** Entries that are looked at: a directory may hold more than memory does. */
const MAX_READ = 20_000;

const input = z.object({
  path: z.string().default(".").describe("Directory; the workspace when left out"),
});

/** Each is tested as it is read: testing thousands at once would keep every other chat waiting. */
async function entriesOf(
  directory: string,
  isShown: (entry: Dirent) => boolean,
  signal: AbortSignal,
): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  let read = 0;
  for await (const entry of await opendir(directory, { bufferSize: 256 })) {
    if (isShown(entry)) entries.push(entry);
    read += 1;
    if (read > MAX_READ || signal.aborted) break;
  }
  return entries;
}

function nameOf(entry: Dirent): string {
  if (entry.isDirectory()) return `${entry.name}/`;
  return entry.isSymbolicLink() ? `${entry.name}@` : entry.name;
}

function describe(entries: readonly Dirent[]): ToolResult {
  if (entries.length === 0) {
    return textResult("[The directory is empty.]");
  }
  const names = entries.map(nameOf).toSorted();
  const more = names.length > MAX_READ ? `more than ${MAX_READ - MAX_ENTRIES}` : String(names.length - MAX_ENTRIES);
  const rest = names.length > MAX_ENTRIES ? [`[${more} more]`] : [];
  return textResult([...names.slice(0, MAX_ENTRIES), ...rest].join("\n"));
}

/** Lists one directory. */
export function lsTool(access: FileAccess): Tool {
  return defineTool({
    name: "ls",
    label: "List",
    description: "List a directory, hidden files too. Directories end with a slash, symbolic links with @.",
    input,
    hasSideEffects: false,
    async run({ path }, context) {
      const isOpen = await access.openPaths();
      const folder = await access.openFolder(path, context.workspace);
      try {
        return describe(await entriesOf(folder.base, (entry) => isOpen(join(folder.path, entry.name)), context.signal));
      } finally {
        await folder.close();
      }
    },
  });
}
