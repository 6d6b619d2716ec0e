import { join } from "node:path";
import type { FileQuery, SearchEnd, SearchScope } from "../../types/run/backend.ts";
import { listedName, shownPath } from "../shown-path.ts";
import type { FileAccess } from "./access.ts";
import { runRipgrep, SEARCH_MS } from "./ripgrep.ts";

/** Finds files by name with ripgrep. Skips `.git`, ignored files and kept command outputs. */
export async function findFiles(
  { path, pattern }: FileQuery,
  access: FileAccess,
  { workspace, signal, take }: SearchScope & { take(path: string): boolean },
): Promise<SearchEnd> {
  const isOpen = await access.openPaths();
  const folder = await access.openFolder(path, workspace);
  try {
    return await runRipgrep({
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
      take(line) {
        const file = join(folder.path, line);
        return isOpen(file) ? take(listedName(shownPath(file, workspace))) : true;
      },
    });
  } finally {
    await folder.close();
  }
}
