import { createHash } from "node:crypto";
import type { BoundFile } from "../../../types/run/backend.ts";

/** Most files that an approval question shows. */
export const MOST_FILES = 20;

/** Paths of files that were changed, added or removed. */
export function changedIn(before: readonly BoundFile[], now: readonly BoundFile[]): readonly string[] {
  const was = new Map(before.map((file) => [file.path, file.content]));
  const is = new Map(now.map((file) => [file.path, file.content]));
  return [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path));
}

/** A digest of all files; undefined when one of them could not be hashed. */
export function digestOf(files: readonly BoundFile[]): string | undefined {
  if (files.some(({ content }) => !content.startsWith("sha256:"))) return undefined;
  return createHash("sha256")
    .update(JSON.stringify(files.map(({ path, content }) => [path, content])))
    .digest("hex");
}
