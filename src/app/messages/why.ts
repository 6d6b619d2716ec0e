import type { MessageSource } from "../../store/journal/read-only.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import { messageFacts, type MessageFacts, stepsOfSent, stepsOf } from "./steps.ts";
import { findMessages } from "./find.ts";
import { cameIn, wentOut } from "./view.ts";

/** The steps of the messages that an id identifies. Throws as `findMessages` does. */
export async function why(journal: MessageSource, asked: { id: string; channel?: string | undefined }) {
  const { rows, sent } = await findMessages(journal, asked.id, asked.channel);
  const stories: (ReturnType<typeof storyOf> | ReturnType<typeof sentView>)[] = sent.map(sentView);
  for (const row of rows) stories.push(...(await withCopies(journal, row)));
  return { stories };
}

/** The story of a message, then one for each time that it was run again. */
async function withCopies(journal: MessageSource, row: InboxRow): Promise<ReturnType<typeof storyOf>[]> {
  const facts = await messageFacts(journal, row);
  const copies = await Promise.all(facts.again.map((copy) => withCopies(journal, copy)));
  return [storyOf(facts), ...copies.flat()];
}

/** The steps of a sent message that answers no known message. */
const sentView = (row: OutboxRow) => ({ replies: [wentOut(row)], steps: stepsOfSent(row) });

function storyOf(facts: MessageFacts) {
  const { row, seen, run, replies, others } = facts;
  const { prompt: _seen, ...receipt } = run?.receipt ?? {};
  return {
    row: cameIn(row),
    seen,
    ...(run && { run: { ...run, receipt } }),
    turn: others.map((other) => other.id),
    replies: replies.map(wentOut),
    steps: stepsOf(facts),
  };
}
