import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Tool } from "../types/tool.ts";
import { unlessMissing } from "../utils/missing.ts";
import { defineTool, textResult } from "./define.ts";
import type { FileAccess } from "./paths.ts";

const input = z.object({
  path: z.string().min(1).describe("File to write; relative paths start at the workspace"),
  content: z.string().describe("The whole new content"),
});

async function modeOf(path: string): Promise<number | undefined> {
  const found = await unlessMissing(stat(path));
  return found && found.mode & 0o777;
}

/**
 * Replaces a file in one step: readers see the old or the new content, never a part. Keeps the mode of an old file and
 * makes missing directories. Throws as the file system does; nothing is left behind then.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const mode = await modeOf(path);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, content, mode === undefined ? { flag: "wx" } : { flag: "wx", mode });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
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
      const real = await access.locate(path, context.workspace, "write");
      await replaceFile(real, content);
      return textResult(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });
}
