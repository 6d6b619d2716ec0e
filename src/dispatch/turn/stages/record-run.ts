import type { Outcome, RunRecord } from "../../../types/journal.ts";
import type { Receipt } from "../../../types/run/run.ts";
import type { RefusedAttachment } from "../../../types/run/run.ts";
import type { Session, SessionPatch } from "../../../types/session.ts";
import { chatFacts } from "../chat-facts.ts";
import { appendNotices } from "../../answer/transcript-notices.ts";
import type { DispatchPorts } from "../../ports.ts";
import type { RunEnd } from "../../../harness/log/run-end.ts";
import { removeEvents } from "../system-events.ts";
import type { TurnPorts } from "../ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { ended } from "./earlier-end.ts";
import { retryWhileDiskFull } from "../../../store/retry-while-disk-full.ts";

type RecordPorts = Pick<DispatchPorts, "clock" | "log" | "journal" | "media" | "closedPaths" | "onDiskError" | "link"> &
  Pick<TurnPorts, "replies">;

/** The end of a run, and what becomes of its messages; unfinished ones continue later. */
interface TurnEnd extends RunEnd {
  readonly outcome: Outcome | "unfinished";
  /** Files that were not sent with an answer to a chat. */
  readonly notAttached: readonly RefusedAttachment[];
}

/**
 * Records a run and its cost in its session's row and in the journal, with the outcome of its messages. That outlives the
 * process, but may not be on the disk yet. Rejects when it cannot be written.
 */
export async function recordRun(
  prepared: PreparedTurn,
  session: Session,
  end: TurnEnd,
  ports: RecordPorts,
): Promise<void> {
  const { clock } = ports;
  const { message, kind, files, facts, agent } = prepared;
  const { result } = end;
  const notAttached = new Map(end.notAttached.map((refusal) => [refusal.file, refusal]));
  const refused = (refusal: RefusedAttachment) => notAttached.set(refusal.file, refusal);
  // First, since clients read the transcript as soon as a run has ended.
  if (message.options?.operator === true && kind.isUse)
    await retryWhileDiskFull(
      "notice",
      () => appendNotices(session, end, { ...ports, agent, runId: facts.runId, refused }),
      ports,
    );
  // From here on the journal need not have the message: a run without an answer has not synced its entry.
  await retryWhileDiskFull("transcript", () => session.sync(), ports);
  const receipt = {
    ...end.receipt,
    ...(files.length > 0 && { files }),
    ...(notAttached.size > 0 && { notAttached: [...notAttached.values()] }),
  };
  const at = clock.now();
  const chat = kind.isUse ? { ...chatFacts(message), abortedLastRun: wasStopped(end), updatedAt: at } : {};
  const patch = { ...chat, ...countersOf(session, end) };
  await retryWhileDiskFull("session row", () => session.update(patch), ports);
  const how = result.kind === "failed" ? `failed:${result.failure.kind}` : result.kind;
  const record = { runId: facts.runId, sessionKey: session.key, agentId: facts.agentId, at, receipt, result: how };
  await endTurn(record, prepared.rows, end.outcome, ports);
  await removeEvents(prepared, session, end, ports);
}

/** The record and the outcome are one write: a crash leaves both or neither. */
async function endTurn(
  record: RunRecord,
  rows: PreparedTurn["rows"],
  outcome: TurnEnd["outcome"],
  ports: RecordPorts,
): Promise<void> {
  const { inbox } = ports.journal;
  const ids = rows.map((row) => row.id);
  const final = outcome === "unfinished" ? undefined : outcome;
  await retryWhileDiskFull("receipt and outcome", () => inbox.recordTurn(record, ids, final), ports);
  if (final) ended(rows, final, ports);
}

/** The next turn's prompt mentions it. */
const wasStopped = ({ result }: RunEnd): true | undefined =>
  result.kind === "aborted" && result.by === "user" ? true : undefined;

function countersOf(session: Session, { receipt, filled, window, compactions }: RunEnd): SessionPatch {
  const { usage } = receipt;
  const { entry } = session;
  return {
    inputTokens: (entry.inputTokens ?? 0) + usage.input,
    outputTokens: (entry.outputTokens ?? 0) + usage.output,
    ...(filled !== undefined && { totalTokens: filled, totalTokensFresh: true }),
    ...(window !== undefined && { contextTokens: window, systemSent: true }),
    ...(compactions > 0 && { compactionCount: (entry.compactionCount ?? 0) + compactions }),
    ...profileOf(session, receipt),
  };
}

/** The key that was used is asked first next time. A key that the user pinned stays. */
function profileOf({ entry }: Session, { profile }: Receipt): SessionPatch {
  if (profile === undefined || entry.authProfileOverrideSource === "user") return {};
  return { authProfileOverride: profile, authProfileOverrideSource: "auto" };
}
