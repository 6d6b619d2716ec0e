import type { OpenJournal } from "../../store/journal/journal.ts";

/** Opens the journal for one piece of work while no gateway runs, and closes it. Throws what the work throws. */
export async function withJournal<T>(path: string, work: (journal: OpenJournal) => Promise<T>): Promise<T> {
  const { openJournal } = await import("../../store/journal/journal.ts");
  const journal = await openJournal({ path, bootId: `cli-${process.pid}` });
  try {
    return await work(journal);
  } finally {
    await journal.close();
  }
}
