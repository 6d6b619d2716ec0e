import { z } from "zod";
import type { FileBackend, FolderEntry } from "../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { listedName } from "../shown-path.ts";

/** Number of entries when a call names no limit. */
const ENTRIES = 500;
/** Most entries that are examined: a directory may hold more than fits into memory. */
const MAX_READ = 20_000;

const input = z.lazy(() =>
  z.object({
    path: z.string().default(".").describe("Directory; the workspace when left out"),
    limit: z.int().min(1).max(5000).default(ENTRIES).describe("Most entries"),
    after: z.string().optional().describe("Continues after this name"),
  }),
);
type Wanted = z.output<typeof input>;

const SUFFIX: Readonly<Record<FolderEntry["kind"], string>> = { directory: "/", link: "@", file: "", other: "" };

function describe(entries: readonly FolderEntry[], { limit, after }: Wanted): ToolResult {
  if (entries.length === 0) return textResult("[The directory is empty.]");
  const rows = entries.map(({ name, kind }) => ({ name: listedName(name), suffix: SUFFIX[kind] })).toSorted(byName);
  const from = after?.replace(/[/@]$/, "");
  const left = from === undefined ? rows : rows.filter(({ name }) => name > from);
  if (left.length === 0) return textResult("[Nothing comes after that name.]");
  const shown = left.slice(0, limit);
  const rest = left.length - shown.length;
  const more = entries.length > MAX_READ ? `more than ${rest}` : String(rest);
  const note = rest > 0 ? [`[${more} more; continue with after=${shown.at(-1)?.name ?? ""}]`] : [];
  return textResult([...shown.map(({ name, suffix }) => `${name}${suffix}`), ...note].join("\n"));
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : Number(a.name > b.name);

/** The tool `ls`: lists one directory. */
export function lsTool(files: FileBackend): Tool {
  return defineTool({
    name: "ls",
    label: "List",
    description: "List a directory, hidden files too. Directories end with a slash, symbolic links with @.",
    input,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: false,
    run: async (wanted, { workspace, signal }) =>
      describe(await files.list(wanted.path, workspace, { most: MAX_READ, signal }), wanted),
  });
}
