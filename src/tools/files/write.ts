import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { changeOf } from "./changes.ts";
import { promptFileRisk } from "./prompt-file-risk.ts";
import { respelled } from "./spellings.ts";
import { contentBefore, mustHold, type Before } from "./stored.ts";

const input = z.object({
  path: z.string().min(1).describe("File to write; relative paths start at the workspace"),
  content: z.string().describe("The whole new content"),
});

async function write(file: z.output<typeof input>, files: FileBackend, workspace: string): Promise<ToolResult> {
  const { path, content } = file;
  await files.locate(path, workspace, "write");
  const before = await contentBefore(path, files, workspace);
  if (before.kind === "bytes" && before.bytes.equals(Buffer.from(content)))
    return textResult(`${path} has this content already; nothing was written.`, { changed: false });
  await files.replace(file, workspace);
  await mustHold(file, files, workspace);
  return textResult(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`, await detailsOf(file, before));
}

/** The details of a write. Bytes that are no text, and files that were too large to be read, are not compared. */
async function detailsOf({ path, content }: z.output<typeof input>, before: Before) {
  if (before.kind === "missing") return changeOf(path, undefined, content);
  const old = before.kind === "bytes" ? before.bytes.toString() : undefined;
  if (old === undefined || old.includes("\0") || old.includes("\uFFFD")) return { changed: true, created: false };
  return changeOf(path, old, content);
}

/** The tool `write`: creates or overwrites a file. */
export function writeTool(files: FileBackend): Tool {
  return defineTool({
    name: "write",
    label: "Write",
    description: "Write a file: creates it with its directories, or overwrites it whole. Use edit for small changes.",
    input,
    prepare: respelled,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: true,
    riskOf: ({ path }, { workspace }) => promptFileRisk([path], files, workspace),
    run: (file, { workspace }) => write(file, files, workspace),
  });
}
