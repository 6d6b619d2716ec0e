import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { errorCode, isMissing, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { OpenFolder } from "../host/open.ts";
import { bytePathOf, bytesOf, pathIn, textOf, type BytePath } from "./byte-path.ts";
import type { Found } from "./survey.ts";

/** Below a writable directory; no sandboxed command can write there. */
const PLACE = ".openclaw/set-aside";
/** In bytes. */
const MOST_NAME = 150;

/**
 * Moves a file, link or directory to where no program obeys it, under another name. Resolves with its new path, and with undefined when
 * it is gone or was removed. Moves nothing that lies outside of its root, even if a program puts a link into the way meanwhile.
 */
export async function setAside({ path, root }: Found, now: number): Promise<string | undefined> {
  const place = pathIn(pathIn(root, PLACE), new Date(now).toISOString().replaceAll(":", "-"));
  await mkdir(bytesOf(place), { recursive: true, mode: 0o700 });
  const slash = path.lastIndexOf("/");
  const target = await freeIn(
    place,
    path
      .slice(root.length + 1)
      .replaceAll("/", "~")
      .slice(-MOST_NAME),
  );
  let folder: OpenFolder | undefined;
  try {
    folder = await OpenFolder.open(Buffer.from(path.slice(0, slash), "latin1"));
    if (!isInside(folder.path, await realOf(textOf(root)))) return undefined;
    await move(bytesOf(pathIn(bytePathOf(folder.base), path.slice(slash + 1))), bytesOf(target));
    return textOf(target);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  } finally {
    await folder?.close();
  }
}

/** The path of a name in a directory, with a number where something has that name. */
async function freeIn(place: BytePath, name: string): Promise<BytePath> {
  for (let number = 1; ; number += 1) {
    const path = pathIn(place, number === 1 ? name : `${name}~${number}`);
    if ((await unlessMissing(lstat(bytesOf(path)))) === undefined) return path;
  }
}

/** What lies on another file system is removed. */
async function move(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    await rm(from, { recursive: true, force: true });
  }
}
