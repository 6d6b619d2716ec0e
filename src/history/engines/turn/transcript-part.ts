import type { ChatMessage, UserMessage } from "../../../types/run/model.ts";
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
export function transcriptPart(window: SessionWindow, turnEntryId: string): TranscriptPart {
  const { messages, summary } = window;
  const said = messages.map((row) => row.message);
  const first = summary === undefined ? [] : [signed(summaryTurn(summary, said[0]?.timestamp ?? 0))];
  return { messages: [...first, ...said], before: messagesBefore(window, turnEntryId) };
}

const signed = (summary: UserMessage): UserMessage => ({
  ...summary,
  provenance: { kind: "internal_system", sourceTool: "compaction" },
});

/** How many messages an engine gets before the present turn. */
export function messagesBefore({ messages, summary }: SessionWindow, turnEntryId: string): number {
  const at = messages.findLastIndex((row) => row.entryId === turnEntryId);
  return (summary === undefined ? 0 : 1) + (at === -1 ? messages.length : at);
}

/**
 * Messages of the part with a tool loop's messages since: the first `opened` messages of the loop are the part, made
 * fit for the model.
 */
export const withSaid = (
  { messages }: TranscriptPart,
  loop: readonly ChatMessage[],
  opened: number,
): readonly ChatMessage[] => (loop.length > opened ? [...messages, ...loop.slice(opened)] : messages);
