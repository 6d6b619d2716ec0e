import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool } from "../../types/run/tool.ts";
import { defineTool, textResult } from "../define.ts";

const input = z.object({
  path: z.string().min(1).describe("File to write; relative paths start at the workspace"),
  content: z.string().describe("The whole new content"),
});

/** Creates or overwrites a file. */
export function writeTool(files: FileBackend): Tool {
  return defineTool({
    name: "write",
    label: "Write",
    description: "Write a file: creates it with its directories, or overwrites it whole. Use edit for small changes.",
    input,
    hasSideEffects: true,
    async run({ path, content }, context) {
      await files.replace({ path, content }, context.workspace);
      return textResult(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });
}
