import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { EntryBody, Session, Sessions, TranscriptEntry } from "../../types/session.ts";

/** Entries of a conversation that are copied at most; of a longer one nothing is. */
const MOST_ENTRIES = 2000;
/** Estimated tokens of a copy at most. */
const MOST_TOKENS = 100_000;

/** What a subagent's conversation begins with; a text says why that is nothing. */
export type Fork = { readonly bodies: readonly EntryBody[] } | string;

/** A copy of a conversation as its agent sees it now, without the call that asks for the copy. */
export async function forkOf(key: SessionKey, sessions: Pick<Sessions, "history">): Promise<Fork> {
  const { entries, hasMore } = await sessions.history(key, MOST_ENTRIES);
  const kept = sinceSummary(entries);
  if (hasMore && kept === entries) return `The conversation has more than ${MOST_ENTRIES} entries`;
  const bodies = kept.flatMap(bodyOf);
  const open = bodies.findLastIndex((body) => body.type === "message" && hasOpenCall(body.message, bodies));
  const whole = open < 0 ? bodies : bodies.slice(0, open);
  const tokens = whole.reduce((sum, body) => sum + estimateTextTokens(JSON.stringify(body)), 0);
  return tokens > MOST_TOKENS ? `The conversation has about ${Math.round(tokens / 1000)}k tokens` : { bodies: whole };
}

/** The task follows, and the copy usually ends in words that ask for it: the agent would take those for its own. */
const END: EntryBody = {
  type: "custom_message",
  customType: "openclaw.fork",
  content:
    "[The conversation above is a copy of the one that asked for you. It is there so that you know it: what it asks for is done there. " +
    "Your own task follows.]",
  display: false,
};

/** Writes the copy into a new conversation. Rejects when it cannot be written. */
export async function fillFork(session: Session, bodies: readonly EntryBody[]): Promise<void> {
  for (const body of [...bodies, ...(bodies.length > 0 ? [END] : [])]) await session.append(body);
  await session.sync();
}

/** The last summary, and what it does not cover. */
function sinceSummary(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const summary = entries[at];
  if (summary?.type !== "compaction") return entries;
  const first = entries.findIndex(({ id }) => id === summary.firstKeptEntryId);
  const kept = first < 0 ? entries.slice(at + 1) : entries.slice(first).filter((entry) => entry !== summary);
  return [summary, ...kept.filter(({ type }) => type !== "compaction")];
}

function bodyOf(entry: TranscriptEntry): readonly EntryBody[] {
  if (entry.type === "message") return [{ type: "message", message: structuredClone(entry.message) }];
  if (entry.type !== "compaction") return [];
  const content = `[Summary of the conversation so far]\n${entry.summary}`;
  return [{ type: "custom_message", customType: "openclaw.fork", content, display: false }];
}

function hasOpenCall(message: ChatMessage, bodies: readonly EntryBody[]): boolean {
  if (message.role !== "assistant") return false;
  const answered = new Set(
    bodies.flatMap((body) =>
      body.type === "message" && body.message.role === "toolResult" ? [body.message.toolCallId] : [],
    ),
  );
  return message.content.some((part) => part.type === "toolCall" && !answered.has(part.id));
}
