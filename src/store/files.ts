import { open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { unlessMissing } from "../utils/missing.ts";
import { diskError, makePrivateDir } from "./disk.ts";

/**
 * Makes the journal's file and its directory where they are missing. Throws `OpenClawError` DISK_FULL or
 * STATE_UNWRITABLE.
 */
export async function createFile(path: string): Promise<void> {
  try {
    await makePrivateDir(dirname(path));
    await (await open(path, "a", 0o600)).close();
  } catch (error) {
    const problem = diskError(error, path);
    if (problem.code === "DISK_FULL") throw problem;
    throw new OpenClawError("STATE_UNWRITABLE", { message: problem.message, fix: problem.fix, cause: error });
  }
}

/** Bytes of a file. Undefined when it does not exist. */
export async function fileSize(path: string): Promise<number | undefined> {
  return (await unlessMissing(stat(path)))?.size;
}
