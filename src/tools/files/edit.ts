import { z } from "zod";
import type { FileBackend } from "../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { changeOf } from "./changes.ts";
import { keepingLineEnds } from "./line-ends.ts";
import { applyEdits, type Replacement } from "./replacements.ts";
import { promptFileRisk } from "./prompt-file-risk.ts";
import { respelled } from "./spellings.ts";
import { mustHold, readToChange } from "./stored.ts";

/** Most edits of one call. */
const MOST_EDITS = 500;

const replacement = z.lazy(() =>
  z.object({
    oldText: z.string().min(1).describe("Exact text that occurs once in the file"),
    newText: z.string().describe("Text that replaces it"),
  }),
);

const input = z.lazy(() =>
  z.object({
    path: z.string().min(1).describe("File to change; relative paths start at the workspace"),
    edits: z
      .array(replacement)
      .max(MOST_EDITS)
      .optional()
      .describe("Replacements, each matched against the file as it is now"),
    oldText: z.string().optional().describe("For a single replacement, instead of edits"),
    newText: z.string().optional(),
  }),
);

function wantedEdits(wanted: z.output<typeof input>): readonly Replacement[] {
  const single = wanted.oldText === undefined ? [] : [{ oldText: wanted.oldText, newText: wanted.newText ?? "" }];
  const edits = [...(wanted.edits ?? []), ...single];
  if (edits.length === 0) {
    throw new Error("Nothing to change: pass edits with oldText and newText.");
  }
  return edits;
}

async function edit(wanted: z.output<typeof input>, files: FileBackend, workspace: string): Promise<ToolResult> {
  const { path } = wanted;
  const edits = wantedEdits(wanted);
  const { content: before } = await readToChange(path, files, workspace);
  // Models write \n, also for files of Windows.
  const content = keepingLineEnds(before, (text, alike) =>
    applyEdits(
      text,
      edits.map(({ oldText, newText }) => ({ oldText: alike(oldText), newText: alike(newText) })),
    ),
  );
  if (content === before) throw new Error("The edits change nothing: oldText and newText are the same.");
  await files.replace({ path, content }, workspace);
  await mustHold({ path, content }, files, workspace);
  const places = `${edits.length} ${edits.length === 1 ? "place" : "places"}`;
  return textResult(`Changed ${places} in ${path}.`, await changeOf(path, before, content));
}

/** The tool `edit`: replaces exact pieces of a file. */
export function editTool(files: FileBackend): Tool {
  return defineTool({
    name: "edit",
    label: "Edit",
    description:
      "Change a file by replacing exact text. Each oldText must occur in the file exactly once; several edits are made " +
      "together or not at all.",
    input,
    prepare: respelled,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: true,
    riskOf: ({ path }, { workspace }) => promptFileRisk([path], files, workspace),
    run: (wanted, { workspace }) => edit(wanted, files, workspace),
  });
}
