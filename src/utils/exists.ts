import { access } from "node:fs/promises";

/** Whether something is at `path`. Never throws: what this process may not see is not there for it. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // Whoever then opens it learns what else may be wrong.
    return false;
  }
}
