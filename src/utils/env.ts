import { homedir } from "node:os";
import { join } from "node:path";

/** The variables of a process. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The path, with `~` and `~/x` under the user's home. */
export function expandHome(path: string, env: Env): string {
  return path === "~" || path.startsWith("~/") ? join(env["HOME"] ?? homedir(), path.slice(1)) : path;
}
