import type { RunFilter, InboxRow, OutboxRow, RunRecord } from "../../types/journal.ts";
import { OpenClawError } from "../../types/errors.ts";
import { promptOf, type RunPlace } from "./prompt.ts";
import type { RunSource } from "../../store/journal/read-only.ts";

/** Runs, the latest first, without the prompts that their models saw. */
export async function listRuns({ journal }: RunPlace, limit: number, filter: RunFilter) {
  const runs = await journal.runs.recent(limit, filter);
  return { runs: runs.map(({ receipt: { prompt: _seen, ...receipt }, ...run }) => ({ ...run, receipt })) };
}

/** A run with its messages and replies. Throws NOT_FOUND, and USAGE when the id is incomplete and fits several runs. */
export async function showRun({ journal }: RunPlace, id: string) {
  return runWithMessages(journal, await findRun(journal, id));
}

/**
 * The prompt that a run's model saw. Throws as `showRun` does, and NOT_FOUND when the run kept no record of its prompt.
 */
export async function showPrompt(place: RunPlace, id: string) {
  const { runId, ...run } = await findRun(place.journal, id);
  const prompt = await promptOf(place, { runId, ...run });
  if (prompt) return { runId, ...prompt };
  throw new OpenClawError("NOT_FOUND", {
    message: `The run ${runId} kept no record of what its model saw.`,
    fix: "No model was asked, or an older version ran it. See the rest: openclaw runs show, without --prompt.",
  });
}

/** Most runs that the error names when a prefix fits several. */
const MOST_NAMED = 5;

/** The run with this id, or the only one whose id begins so. Throws NOT_FOUND, and USAGE when several do. */
async function findRun(journal: RunSource, id: string): Promise<RunRecord> {
  const exact = await journal.runs.find(id);
  if (exact) return exact;
  const found = id === "" ? [] : await journal.runs.beginningWith(id, MOST_NAMED);
  const [only, ...others] = found;
  if (!only) {
    throw new OpenClawError("NOT_FOUND", {
      message: `There is no run ${id}.`,
      fix: "See what there is: openclaw runs list. Runs are kept for 30 days.",
    });
  }
  if (others.length === 0) return only;
  throw new OpenClawError("USAGE", {
    message: `Several runs begin with ${id}: ${found.map((run) => run.runId).join(", ")}.`,
    fix: "Give more of its id.",
  });
}

/** A run with its messages and their replies, without their texts. */
async function runWithMessages(journal: RunSource, run: RunRecord) {
  const inbox = await journal.inbox.ofRun(run.runId);
  const outbox = await journal.outbox.ofRun(run.runId);
  return { run, inbox: inbox.map(cameIn), outbox: outbox.map(wentOut) };
}

function cameIn({ id, message, state, attempts, outcome }: InboxRow) {
  const { channel, account, chat, thread } = message.from;
  const where = { channel, account, chat: chat.id, ...(thread !== undefined && { thread }) };
  return {
    id,
    ...where,
    messageId: message.id,
    sender: message.sender.id,
    state,
    attempts,
    ...(outcome && { outcome }),
  };
}

function wentOut({ id, replyKey, part, to, body, state, attempts, messageId, error, isRepeat }: OutboxRow) {
  return {
    id,
    replyKey,
    part,
    channel: to.channel,
    account: to.account,
    chat: to.chat.id,
    kind: body.kind,
    state,
    attempts,
    ...(messageId !== undefined && { messageId }),
    ...(isRepeat === true && { isRepeat }),
    ...(error !== undefined && { error }),
  };
}
