import { isMessage, conversationLines } from "../../dispatch/commands/reports/conversation.ts";
import { isSkip } from "../../reply/plain-reply.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Inbox, InboxRow } from "../../types/journal.ts";
import { asksForRest } from "../../types/run/turns.ts";
import type { Sessions, TranscriptEntry } from "../../types/session.ts";

/** Entries of a transcript in which the answer of a run is looked for. */
const MOST_SEARCHED = 400;

/** The answer of a message's run; undefined when the run answered nothing, or wants to end the exchange. */
export async function replyOf(
  row: InboxRow | undefined,
  key: SessionKey,
  sessions: Pick<Sessions, "history">,
): Promise<string | undefined> {
  if (row?.outcome?.kind !== "replied" || row.turnId === undefined) return undefined;
  const { entries } = await sessions.history(key, MOST_SEARCHED);
  const text = conversationLines(turnIn(entries, row.turnId).filter(isMessage), true)
    .filter(({ by }) => by === "agent")
    .map((line) => line.text)
    .join("\n\n")
    .trim();
  return text === "" || isSkip(text) ? undefined : text;
}

/** The entries of a turn after its message; none when the message is not among the entries. */
export function turnIn(entries: readonly TranscriptEntry[], turnId: string): readonly TranscriptEntry[] {
  const at = entries.findIndex(({ id }) => id === turnId);
  const after = at < 0 ? [] : entries.slice(at + 1);
  const end = after.findIndex(
    (entry) =>
      entry.type === "message" &&
      entry.message.role === "user" &&
      entry.message.steered !== true &&
      !asksForRest(entry.message),
  );
  return end < 0 ? after : after.slice(0, end);
}

/** The message that a run answers. */
export const rowOfRun = async (runId: string, inbox: Pick<Inbox, "ofRun">): Promise<InboxRow | undefined> =>
  (await inbox.ofRun(runId))[0];
