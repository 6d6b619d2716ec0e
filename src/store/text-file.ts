import { lstat, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { errorCode, unlessMissing } from "../utils/missing.ts";

/** The text of a file; undefined when it is missing. Rejects with WRONG_FILE_KIND where a directory is in its place, or a file in that of its directory. */
export async function readTextFile(path: string): Promise<string | undefined> {
  try {
    return await unlessMissing(readFile(path, "utf8"));
  } catch (error) {
    throw (await wrongKind(error, path)) ?? error;
  }
}

/** A directory in the place of a file, or the reverse, as an error for the operator; undefined for every other error. Never rejects. */
export async function wrongKind(error: unknown, path: string): Promise<OpenClawError | undefined> {
  const code = errorCode(error);
  if (code === "EISDIR") return refusal(path, "a directory", "a file", error);
  if (code !== "ENOTDIR") return undefined;
  const file = await fileOn(dirname(path));
  return file === undefined ? undefined : refusal(file, "a file", "a directory", error);
}

/** The part of a path that is no directory. */
async function fileOn(path: string): Promise<string | undefined> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts) return facts.isDirectory() ? undefined : path;
  return dirname(path) === path ? undefined : fileOn(dirname(path));
}

const refusal = (path: string, is: string, wanted: string, cause: unknown): OpenClawError =>
  new OpenClawError("WRONG_FILE_KIND", {
    message: `${path} is ${is}, and ${wanted} belongs there.`,
    fix: "Move it away, or see whether OPENCLAW_STATE_DIR names the right directory. What the gateway needs there it makes anew.",
    cause,
  });
