import { mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { errorCode, isMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { OpenFolder } from "../host/open.ts";
import type { Obeyed } from "./survey.ts";

/** Below a writable directory; no sandboxed command can write there. */
const PLACE = join(".openclaw", "set-aside");
const MOST_NAME = 150;

/**
 * Moves a file, link or directory to where no program obeys it, under another name. Resolves with its new path, and with undefined when
 * it is gone or was removed. Moves nothing that lies outside of its root, even if a program puts a link into the way meanwhile.
 */
export async function setAside({ path, root }: Obeyed, now: number): Promise<string | undefined> {
  const place = join(root, PLACE, new Date(now).toISOString().replaceAll(":", "-"));
  await mkdir(place, { recursive: true, mode: 0o700 });
  const target = join(place, relative(root, path).replaceAll("/", "~").slice(-MOST_NAME));
  let folder: OpenFolder | undefined;
  try {
    folder = await OpenFolder.open(dirname(path));
    if (!isInside(folder.path, await realOf(root))) return undefined;
    await move(folder.at(basename(path)), target);
    return target;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  } finally {
    await folder?.close();
  }
}

/** What lies on another file system is removed. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    await rm(from, { recursive: true, force: true });
  }
}
