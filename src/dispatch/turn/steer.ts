import type { Run } from "../../harness/run.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { QueuedTurn } from "../ports.ts";
import { notifyPrepared } from "../admission/message-hooks.ts";
import { NO_MEDIA } from "../media/media.ts";
import { saidIn } from "../directives/said.ts";
import { joiningTurn } from "./body.ts";
import { leave } from "./stages/claim.ts";
import { loadRows } from "./stages/load-rows.ts";
import { leaveUnanswered } from "../signals/unanswered.ts";
import { finishSteered } from "./stages/earlier-end.ts";
import type { TurnPorts } from "./ports.ts";

/**
 * Puts a message into a running turn. False when it has to become its own turn. The claim comes first, so that the next
 * start finds the message after a crash.
 */
export async function steer(run: Run, key: SessionKey, queued: QueuedTurn, ports: TurnPorts): Promise<boolean> {
  if (queued.rows.length > 1) return false;
  const [row] = (await loadRows(queued, ports))?.rows ?? [];
  if (!row) return true;
  const settings = ports.settings();
  const agent = settings.agents.get(settings.agentOf(key));
  const { queue: _queue, ...ofATurnOfItsOwn } = saidIn(row.message, key, ports).values;
  // Files are fetched only for a turn of their own, and only that can think and show what its message asks for.
  if (!agent || hasFiles(row) || Object.keys(ofATurnOfItsOwn).length > 0) return false;
  const turn = joiningTurn({ ...queued, rows: [row] }, row, agent, { key, ports });
  const claim = { sessionKey: key, agentId: agent.id, runId: run.stream.facts.runId, turnId: turn.entryId };
  if ((await ports.journal.inbox.claim([row.id], claim)).length === 0) {
    leave(queued, ports);
    return true;
  }
  if (!(await run.steer(turn))) return false;
  notifyPrepared({ rows: [row], key, text: turn.text, spoken: NO_MEDIA.spoken }, ports);
  // It is part of the running turn now: no failure from here on may make it its own turn.
  await finishSteered(row, ports);
  ports.replies.acks.end([row]);
  leaveUnanswered([row], ports);
  ports.replies.endLog(queued.log, { kind: "replied", stop: "stop" });
  return true;
}

/** Its own files, or those of the message that it replies to. */
const hasFiles = ({ message: { media, replyTo } }: InboxRow): boolean =>
  media.length + (replyTo?.media?.length ?? 0) > 0;
