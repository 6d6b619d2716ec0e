import { mkdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HOST_LINK } from "./tree.ts";

/** The package that `node_modules/openclaw` of a plugin leads to; undefined when it is no link or missing. */
export const hostLinkOf = async (folder: string): Promise<string | undefined> =>
  readlink(join(folder, HOST_LINK)).catch(() => undefined);

/**
 * Makes `node_modules/openclaw` of a plugin a link to the gateway's own package. Replaces an existing file or folder in
 * one step.
 */
export async function linkHost(folder: string, packageRoot: string): Promise<void> {
  const path = join(folder, HOST_LINK);
  if ((await hostLinkOf(folder)) === packageRoot) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.tmp`;
  await rm(draft, { recursive: true, force: true });
  await symlink(packageRoot, draft, "junction");
  await rm(path, { recursive: true, force: true });
  await rename(draft, path);
}
