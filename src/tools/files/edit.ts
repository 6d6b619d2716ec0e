import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool } from "../../types/run/tool.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { defineTool, textResult } from "../define.ts";

const MAX_BYTES = 10 * 1024 * 1024;

const replacement = z.object({
  oldText: z.string().min(1).describe("Exact text that occurs once in the file"),
  newText: z.string().describe("Text that replaces it"),
});
type Replacement = z.output<typeof replacement>;

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

interface Place extends Replacement {
  readonly start: number;
}

function placeOf(content: string, edit: Replacement, number: number): Place {
  const start = edit.oldText === "" ? -1 : content.indexOf(edit.oldText);
  if (start < 0) {
    throw new Error(
      `Edit ${number}: its oldText is not in the file. It must match exactly, including spaces and line ends; read the file again.`,
    );
  }
  if (content.indexOf(edit.oldText, start + 1) >= 0) {
    throw new Error(
      `Edit ${number}: its oldText occurs in the file more than once. Add surrounding lines until it is unique.`,
    );
  }
  return { ...edit, start };
}

/** Applies all edits, each matched against the content as given. Throws when one is missing, ambiguous or overlaps another. */
export function applyEdits(content: string, edits: readonly Replacement[]): string {
  const places = edits.map((edit, index) => placeOf(content, edit, index + 1)).toSorted((a, b) => a.start - b.start);
  let result = "";
  let position = 0;
  for (const place of places) {
    if (place.start < position) {
      throw new Error("Two edits overlap; join them into one.");
    }
    result += content.slice(position, place.start) + place.newText;
    position = place.start + place.oldText.length;
  }
  return result + content.slice(position);
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
