import { isAbsolute, relative, resolve, sep } from "node:path";
import type { NoteChange, NoteChanges } from "../../types/memory/note-change.ts";
import type { Tool, ToolContext, ToolContribution, ToolScene } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { changedFiles, WRITERS } from "../files/changed-files.ts";

const READER = "read";

/**
 * The same tools; each change of a note is recorded. Text that `read` shows of a note is untrusted content when it was
 * written by a conversation that had read such content.
 */
export function recordingNotes(
  contributions: readonly ToolContribution[],
  changes: NoteChanges,
): readonly ToolContribution[] {
  return contributions.map((contribution) => {
    const isReader = contribution.name === READER;
    if (!isReader && !WRITERS.has(contribution.name)) return contribution;
    return {
      ...contribution,
      forRun(scene: ToolScene) {
        const tool = contribution.forRun(scene);
        return tool && (isReader ? marking(tool, changes) : recording(tool, scene, changes));
      },
    };
  });
}

const marking = (tool: Tool, changes: NoteChanges): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const asked = isFields(input) ? input["path"] : undefined;
    const path = typeof asked === "string" ? noteIn(asked, context.workspace) : undefined;
    if (path === undefined) return result;
    const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    if (!(await changes.isUntrusted({ agentId: context.agentId, path, text }))) return result;
    return { ...result, details: { ...result.details, externalContent: { untrusted: true, source: "notes" } } };
  },
});

const recording = (tool: Tool, { acting }: ToolScene, changes: NoteChanges): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const changed = changedFiles(input, result).flatMap(({ path, details }) => {
      const note = noteIn(path, context.workspace);
      return note === undefined ? [] : [{ path: note, ...linesIn(details) }];
    });
    if (changed.length === 0) return result;
    const { agentId, sessionKey, runId, callId } = context;
    const facts = { tool: tool.name, agentId, sessionKey, runId, callId, principal: acting.principal };
    const sources = await sourcesOf(context);
    for (const change of changed) await changes.record({ ...facts, ...change, sources });
    return result;
  },
});

const sourcesOf = async ({ untrusted }: ToolContext): Promise<NoteChange["sources"]> => (await untrusted?.()) ?? [];

/** The path of a note in the workspace, in the form that the search uses; undefined for any other file. */
function noteIn(path: string, workspace: string): string | undefined {
  const inside = relative(workspace, resolve(workspace, path));
  if (inside === "" || isAbsolute(inside)) return undefined;
  const plain = inside.split(sep).join("/");
  return plain === "MEMORY.md" || /^memory\/.*\.md$/.test(plain) ? plain : undefined;
}

/** Added and removed lines of a patch in the unified format, without its header. */
function linesIn({ patch }: Readonly<Record<string, unknown>>): Pick<NoteChange, "lines"> {
  if (typeof patch !== "string") return {};
  const body = patch.slice(Math.max(0, patch.search(/^@@/m))).split("\n");
  const marked = (sign: string) => body.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
  return { lines: { added: marked("+"), removed: marked("-") } };
}
