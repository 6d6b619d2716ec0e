import type { Session } from "../../types/session.ts";
import { addressed } from "../turn/addressed.ts";
import { runIdOf } from "../turn/ids.ts";
import { settleOpenSends } from "./open-sends.ts";
import { settleOpenSpawns } from "./open-spawns.ts";
import type { DispatchPorts } from "../ports.ts";
import { ResponsePrefix } from "../answer/response-prefix.ts";
import { restoreSentText } from "./restore-sent-text.ts";
import type { PreparedTurn } from "../turn/prepared-turn.ts";

/** Adds to the transcript what was sent and started for this turn before a restart, but was not recorded. */
export async function noteEarlierActs(
  prepared: PreparedTurn,
  session: Session,
  ports: Pick<DispatchPorts, "journal" | "clock" | "settings">,
): Promise<void> {
  const {
    rows: [row],
    turn,
    message,
    agent,
  } = prepared;
  if (!row || row.attempts === 0) return;
  const { journal, clock, settings } = ports;
  const rows = await journal.outbox.of(row.id);
  const sent = { inboxId: row.id, turnId: turn.entryId, rows };
  const prefix = new ResponsePrefix(settings().chat((addressed(message) ?? message).from).responsePrefix, agent);
  await settleOpenSends(session, sent, clock);
  await settleOpenSpawns(session, { runId: runIdOf(row), turnId: turn.entryId }, { inbox: journal.inbox, clock });
  await restoreSentText(session, { ...sent, prefix }, clock);
}
