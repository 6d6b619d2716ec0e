import { existsSync } from "node:fs";
import { lstat, readdir, realpath, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";

/** A file or directory that is to go, without the paths in it that stay. */
export interface Removal {
  readonly path: string;
  readonly stays: readonly string[];
  /** In the directory, this goes after everything else: while it is there, the removal can be run again. */
  readonly last?: string;
  /** The state directory: a link to it is followed. */
  readonly isState?: true;
}

/**
 * Removes a file, or a directory without the paths in it that stay. Only the link to the state directory itself is followed; of any other
 * link, such as to a config among a person's own files, the link alone goes.
 */
export async function remove({ path, stays, last, isState }: Removal): Promise<void> {
  const isLink = (await unlessMissing(lstat(path)))?.isSymbolicLink() === true;
  if (isLink && isState !== true) return unlink(path);
  const real = await realpath(path).catch(() => path);
  const kept = [...stays, ...(await Promise.all(stays.map((one) => realpath(one).catch(() => one))))];
  if (!kept.includes(real)) {
    if (last !== undefined) await removeBelow(Buffer.from(real), [...kept, await unlinked(last)]);
    await removeBelow(Buffer.from(real), kept);
  }
  // The link still leads to what stays.
  if (real !== path && !existsSync(real)) await unlink(path);
}

/** A path whose directories are no links. It may be one itself. */
const unlinked = async (path: string): Promise<string> =>
  join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));

/**
 * Removes a file, or what is in a directory, and the directory itself once it is empty and no volume of a container. Paths are bytes:
 * a name need not be UTF-8.
 */
async function removeBelow(path: Buffer, stays: readonly string[]): Promise<void> {
  if (stays.includes(path.toString())) return;
  if ((await unlessMissing(lstat(path)))?.isDirectory() !== true) {
    await unlessMissing(unlink(path));
    return;
  }
  for (const name of await readdir(path, { encoding: "buffer" }))
    await removeBelow(Buffer.concat([path, Buffer.from("/"), name]), stays);
  await rmdir(path).catch((error: unknown) => {
    const code = errorCode(error) ?? "";
    const isKept = ["ENOTEMPTY", "EEXIST"].includes(code) && stays.some((one) => isInside(one, path.toString()));
    if (code !== "EBUSY" && !isKept) throw error;
  });
}

/** Throws USAGE for a directory that has any of `others` in it: it has more than the gateway's files, whatever the config calls it. */
export async function refuseWide(path: string, others: readonly string[]): Promise<void> {
  if (!existsSync(path)) return;
  const [names, inside] = await Promise.all([namesOf([path]), namesOf(others)]);
  const wide = names.find((name) => name === dirname(name) || inside.some((other) => isInside(other, name)));
  if (wide === undefined) return;
  throw new OpenClawError("USAGE", {
    message: `${wide} has more in it than files of the gateway, so nothing was removed.`,
    fix: "Remove what you do not need there by hand.",
  });
}

/** The paths as they are written, and where their links lead. */
const namesOf = async (paths: readonly string[]): Promise<readonly string[]> => [
  ...paths,
  ...(await Promise.all(paths.map((path) => realpath(path).catch(() => path)))),
];
