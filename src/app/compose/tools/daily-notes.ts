import type { DispatchPorts } from "../../../dispatch/ports.ts";
import { readDailyNotes, type DailyNote } from "../../../prompt/startup-notes.ts";
import type { Clock } from "../../../types/clock.ts";
import type { AgentId } from "../../../types/ids.ts";
import type { NoteChanges } from "../../../types/memory/note-change.ts";

/**
 * Reads the notes of the last days for a fresh session. One with a line that untrusted content may have asked for is only named:
 * shown by a tool, it marks the conversation.
 */
export function dailyNotesWith(
  { isUntrusted }: Pick<NoteChanges, "isUntrusted">,
  clock: Pick<Clock, "now">,
): Required<Pick<DispatchPorts, "dailyNotes">>["dailyNotes"] {
  const marked = async (agentId: AgentId, note: DailyNote): Promise<DailyNote> =>
    (await isUntrusted({ agentId, ...note }))
      ? { ...note, text: "[not shown here: parts of it come from untrusted content]" }
      : note;
  return async ({ id, workspace, timezone, prompt: { startup } }) => {
    if (!startup) return [];
    const notes = await readDailyNotes(workspace, startup, { now: clock.now(), timezone });
    return Promise.all(notes.map((note) => marked(id, note)));
  };
}
