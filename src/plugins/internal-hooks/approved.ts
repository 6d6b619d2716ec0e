import { createHash, randomUUID } from "node:crypto";
import { copyFile, chmod, lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../store/make-directory.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { realOf } from "../../utils/real-path.ts";
import { copyFolder } from "../install/copy.ts";
import type { PluginSizeLimits } from "../install/paths.ts";
import { hashTree, readTree, type TreeEntry } from "../install/tree.ts";

/** Files that belong together: all files of a folder, or one file alone. */
export interface HookCode {
  /** Absolute. */
  readonly folder: string;
  /** Name of the file that is loaded. */
  readonly handler: string;
  /** No other file of the folder belongs to the hook. */
  readonly isAlone?: true;
}

/** Limits are low, because a person has read these files before the approval. */
const LIMITS: PluginSizeLimits = { entries: 2000, bytes: 20 * 1_048_576 };

/** The hash of a hook's files, as `sha256-<base64>`. Throws `PLUGIN_UNSAFE` as `readTree` does. */
export async function hashOfHook(code: HookCode): Promise<string> {
  const root = await realOf(code.folder);
  return hashTree(root, code.isAlone === true ? await aloneIn(root, code.handler) : await readTree(root, LIMITS));
}

async function aloneIn(root: string, path: string): Promise<readonly TreeEntry[]> {
  const facts = await lstat(join(root, path));
  return [{ kind: "file", path, bytes: facts.size, isProgram: (facts.mode & 0o100) !== 0 }];
}

/**
 * The file to load of a hook whose files were approved: a copy that only the gateway writes, so that the code that runs
 * is the code that was read. Throws when the files do not have the hash any more.
 */
export async function approvedCopy(code: HookCode, integrity: string, dir: string): Promise<string> {
  const target = join(dir, copyName(integrity));
  const copy = { ...code, folder: target };
  if (await unlessMissing(lstat(target))) {
    if ((await hashOfHook(copy)) === integrity) return join(target, code.handler);
    await rm(target, { recursive: true, force: true });
  }
  const draft = join(dir, `.draft-${randomUUID()}`);
  try {
    await copyInto(draft, code);
    if ((await hashOfHook({ ...code, folder: draft })) !== integrity)
      throw new Error("its files were changed after they were approved");
    await rename(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return join(target, code.handler);
}

async function copyInto(draft: string, { folder, handler, isAlone }: HookCode): Promise<void> {
  await makeDirectory(draft);
  if (isAlone !== true) {
    await readTree(await realOf(folder), LIMITS);
    return copyFolder(folder, draft);
  }
  const { mode } = await lstat(join(folder, handler));
  await copyFile(join(folder, handler), join(draft, handler));
  await chmod(join(draft, handler), (mode & 0o100) === 0 ? 0o600 : 0o700);
}

/** A name of a folder on every file system. */
const copyName = (integrity: string): string => createHash("sha256").update(integrity).digest("hex").slice(0, 32);

/** Removes the copies of hooks that are not approved any more. */
export async function removeCopies(dir: string, used: readonly string[]): Promise<void> {
  const kept = new Set(used.map(copyName));
  const names = (await unlessMissing(readdir(dir))) ?? [];
  const old = names.filter((name) => !kept.has(name));
  await Promise.all(old.map((name) => rm(join(dir, name), { recursive: true, force: true })));
}
