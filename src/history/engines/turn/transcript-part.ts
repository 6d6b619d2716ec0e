import type { ChatMessage } from "../../../types/run/model.ts";
import type { SessionWindow } from "../../../types/session.ts";
import { summaryTurn } from "../../assemble.ts";

/** A conversation as engines get it. */
export interface TranscriptPart {
  readonly messages: readonly ChatMessage[];
  /** Where the present turn begins. */
  readonly before: number;
}

/**
 * The conversation as the transcript has it, with provenance and the original call ids. The passes are applied to the engine's
 * answer. A summary of the built-in compaction is a turn of its own at the start.
 */
export function transcriptPart({ messages, summary }: SessionWindow, turnEntryId: string): TranscriptPart {
  const said = messages.map((row) => row.message);
  const first = summary === undefined ? [] : [summaryTurn(summary, said[0]?.timestamp ?? 0)];
  const at = messages.findIndex((row) => row.entryId === turnEntryId);
  return { messages: [...first, ...said], before: first.length + (at === -1 ? said.length : at) };
}

/** With a tool loop's messages since: its first `opened` messages are the part, made fit for the model. */
export const withSaid = (
  { messages }: TranscriptPart,
  loop: readonly ChatMessage[],
  opened: number,
): readonly ChatMessage[] => (loop.length > opened ? [...messages, ...loop.slice(opened)] : messages);
