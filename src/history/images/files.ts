import { realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import { isInside } from "../../utils/real-path.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { absolutePath, type PathPlaces } from "./paths.ts";

/** The directories from which images may be read. All paths are absolute. */
export interface ImagePlaces extends PathPlaces {
  /** Directories in addition to the workspace and the received files. */
  readonly readable?: readonly string[];
  /** The gateway's own files and directories, which no model may see. */
  readonly closed?: readonly string[];
  /** Whether the turn's people may not see a file, whose path has no links. */
  isHidden(path: string): Promise<boolean>;
}

/** One version of a file. */
export interface ImageFile {
  /** Without symbolic links. */
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  /** Another value when the file was changed. */
  readonly version: string;
}

/** The most bytes of a file that is read. */
const MOST_BYTES = 50 * 1024 * 1024;

/** The file that a path in a text means. Throws with the reason when there is none or it must not be read. */
export async function findImageFile(written: string, places: ImagePlaces): Promise<ImageFile> {
  const meant = absolutePath(written, places);
  if (meant === undefined) throw new Error("it is no path");
  const path = await realpath(meant);
  const open = [places.workspace, places.media, ...(places.readable ?? [])];
  if (!(await isBelow(path, open))) throw new Error("it lies outside the workspace");
  if (await isBelow(path, places.closed ?? [])) throw new Error("it belongs to the gateway itself");
  if (await places.isHidden(path)) throw new Error("it may have notes of private chats");
  const facts = await stat(path);
  // Opening a named pipe waits until a program writes to it.
  if (!facts.isFile()) throw new Error("it is not a regular file");
  const { size, mtimeMs } = facts;
  if (size > MOST_BYTES) throw new Error("it is too large");
  return { path, name: basename(path), bytes: size, version: `${path}|${mtimeMs}|${size}` };
}

async function isBelow(path: string, roots: readonly string[]): Promise<boolean> {
  // A directory that does not exist contains no file.
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return real.some((root) => root !== undefined && isInside(path, root));
}

/** Reads the bytes if they are an image, whatever the file's name. Rejects when the file cannot be read. */
export async function readImage({ path }: ImageFile): Promise<Uint8Array | undefined> {
  const bytes = await readRegular(path, MOST_BYTES);
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  return found?.mime.startsWith("image/") === true ? bytes : undefined;
}
