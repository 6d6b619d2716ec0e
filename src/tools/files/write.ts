import { randomUUID } from "node:crypto";
import { lstat, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { Tool } from "../../types/run/tool.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { defineTool, textResult } from "../define.ts";
import type { FileAccess } from "./paths.ts";

const input = z.object({
  path: z.string().min(1).describe("File to write; relative paths start at the workspace"),
  content: z.string().describe("The whole new content"),
});

/** The mode of a file that is there. A link is replaced and not followed; what is no file stays as it is. */
async function modeOf(file: string, path: string): Promise<number | undefined> {
  const found = await unlessMissing(lstat(file));
  if (found === undefined || found.isSymbolicLink()) return undefined;
  if (!found.isFile()) throw new Error(`${path} is ${found.isDirectory() ? "a directory" : "not a regular file"}.`);
  return found.mode & 0o777;
}

/**
 * Replaces a file in one step: readers see the old or the new content, never a part. Keeps the mode of an old file and
 * makes missing directories. Throws as the file system does; nothing is left behind then. The directory is opened and
 * judged first, so that a link that is put in its place meanwhile leads nowhere.
 */
export async function replaceFile(
  { path, content }: { readonly path: string; readonly content: string },
  access: FileAccess,
  workspace: string,
): Promise<void> {
  const { folder, name } = await access.openParent(path, workspace);
  const file = folder.at(name);
  const draft = folder.at(`.${randomUUID()}.tmp`);
  try {
    const mode = await modeOf(file, path);
    await writeFile(draft, content, mode === undefined ? { flag: "wx" } : { flag: "wx", mode });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await folder.close();
  }
}

/** Creates or overwrites a file. */
export function writeTool(access: FileAccess): Tool {
  return defineTool({
    name: "write",
    label: "Write",
    description: "Write a file: creates it with its directories, or overwrites it whole. Use edit for small changes.",
    input,
    hasSideEffects: true,
    async run({ path, content }, context) {
      await replaceFile({ path, content }, access, context.workspace);
      return textResult(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });
}
