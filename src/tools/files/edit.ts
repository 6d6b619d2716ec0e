import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool } from "../../types/run/tool.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { defineTool, textResult } from "../define.ts";
import { applyEdits, type Replacement } from "./replacements.ts";

const MAX_BYTES = 10 * 1024 * 1024;

const replacement = z.object({
  oldText: z.string().min(1).describe("Exact text that occurs once in the file"),
  newText: z.string().describe("Text that replaces it"),
});

const input = z.object({
  path: z.string().min(1).describe("File to change; relative paths start at the workspace"),
  edits: z.array(replacement).optional().describe("Replacements, each matched against the file as it is now"),
  oldText: z.string().optional().describe("For a single replacement, instead of edits"),
  newText: z.string().optional(),
});

function wantedEdits(wanted: z.output<typeof input>): readonly Replacement[] {
  const single = wanted.oldText === undefined ? [] : [{ oldText: wanted.oldText, newText: wanted.newText ?? "" }];
  const edits = [...(wanted.edits ?? []), ...single];
  if (edits.length === 0) {
    throw new Error("Nothing to change: pass edits with oldText and newText.");
  }
  return edits;
}

const toUnix = (text: string): string => text.replaceAll("\r\n", "\n");

// Models write \n. In a file with only \r\n, edits use \r\n as well; a mixed file is matched exactly.
function applyInLineEnds(content: string, edits: readonly Replacement[]): string {
  const isWindows = content.includes("\r\n") && !/(?<!\r)\n/.test(content);
  if (!isWindows) {
    return applyEdits(content, edits);
  }
  const unixEdits = edits.map((edit) => ({ oldText: toUnix(edit.oldText), newText: toUnix(edit.newText) }));
  return applyEdits(toUnix(content), unixEdits).replaceAll("\n", "\r\n");
}

async function readWhole(path: string, files: FileBackend, workspace: string): Promise<string> {
  // A file that may be read may still be closed to writing.
  await files.locate(path, workspace, "write");
  const file = await files.open(path, workspace);
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} is larger than 10 MB.`);
    const bytes = await readBytes(file, size);
    const content = bytes.toString();
    if (!Buffer.from(content).equals(bytes)) {
      throw new Error(`${path} is not UTF-8 text; changing it would damage it.`);
    }
    return content;
  } finally {
    await file.close();
  }
}

/** Replaces exact pieces of a file. */
export function editTool(files: FileBackend): Tool {
  return defineTool({
    name: "edit",
    label: "Edit",
    description:
      "Change a file by replacing exact text. Each oldText must occur in the file exactly once; several edits are made " +
      "together or not at all.",
    input,
    hasSideEffects: true,
    async run(wanted, context) {
      const edits = wantedEdits(wanted);
      const content = await readWhole(wanted.path, files, context.workspace);
      const changed = applyInLineEnds(content, edits);
      if (changed === content) {
        throw new Error("The edits change nothing: oldText and newText are the same.");
      }
      await files.replace({ path: wanted.path, content: changed }, context.workspace);
      return textResult(`Changed ${edits.length} ${edits.length === 1 ? "place" : "places"} in ${wanted.path}.`);
    },
  });
}
