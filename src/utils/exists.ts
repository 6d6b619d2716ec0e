import { access } from "node:fs/promises";

/** Whether this process can see a file at `path`. Never throws; false also when access is denied. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // The caller that opens the file gets the real error.
    return false;
  }
}
