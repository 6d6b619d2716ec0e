import { existsSync } from "node:fs";
import type { z } from "zod";
import { BY_OPERATOR } from "../../../../store/journal/counts.ts";
import type { OpenJournal } from "../../../../store/journal/journal.ts";
import { openJournalToRead } from "../../../../store/journal/read-only.ts";
import type { TaskLook } from "../../../../store/journal/tasks.ts";
import { agentId, DEFAULT_AGENT } from "../../../../types/ids.ts";
import type { InboxRow } from "../../../../types/journal.ts";
import type { TaskDesk } from "../../../../types/subagent/task.ts";
import { journalPath } from "../../../config/paths.ts";
import { openTasks } from "../../../tasks/desk.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { withJournal } from "../../with-journal.ts";

interface Question<T> {
  readonly method: string;
  readonly params: object;
  readonly shape: z.ZodType<T>;
  /** It writes into the journal. */
  readonly changes?: boolean;
  here(desk: TaskDesk): Promise<unknown>;
}

/** The gateway's answer, or that of the journal when none runs. */
export async function askTasks<T>(io: Io, question: Question<T>): Promise<T> {
  const state = await readState(io);
  if (hasGateway(io, state)) return callOnce(io, state, question);
  const path = journalPath(state.paths);
  const answer = async (desk: TaskDesk) => question.shape.parse(await question.here(desk));
  if (!existsSync(path)) return answer(EMPTY);
  if (question.changes === true)
    return withJournal(path, (journal) => answer(deskOver(journal, (row) => endIn(journal, row))));
  const journal = await openJournalToRead(path);
  try {
    return await answer(deskOver(journal, async () => false));
  } finally {
    await journal.close();
  }
}

async function endIn({ inbox }: OpenJournal, { id }: InboxRow): Promise<boolean> {
  await inbox.finish([id], { kind: "dropped", why: BY_OPERATOR });
  return true;
}

/** Without a gateway no transcript is read, and no command runs in the background. */
const deskOver = ({ tasks }: { readonly tasks: TaskLook }, end: (row: InboxRow) => Promise<boolean>): TaskDesk =>
  openTasks({
    journal: { tasks },
    names: { defaultAgent: agentId(DEFAULT_AGENT), entryOf: () => undefined },
    sessions: { history: async () => ({ entries: [], hasMore: false }) },
    end,
    processes: () => [],
  });

const EMPTY: TaskDesk = {
  list: async () => ({ tasks: [] }),
  get: async () => undefined,
  cancel: async () => ({ found: false, cancelled: false }),
};
