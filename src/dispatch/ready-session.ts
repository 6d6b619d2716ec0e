import type { Session } from "../types/session.ts";
import { takeUpSends } from "./earlier-boots.ts";
import { beginAfresh } from "./heartbeat.ts";
import { tidyOrphans } from "./orphans.ts";
import type { DispatchPorts } from "./ports.ts";
import type { PreparedTurn } from "./turn.ts";

/** What a conversation needs before a turn: nothing of earlier boots hangs in the air. Rejects when it cannot be written. */
export async function readySession(prepared: PreparedTurn, session: Session, ports: DispatchPorts): Promise<void> {
  await beginAfresh(session, prepared.message, prepared.turn.entryId);
  await tidyOrphans(session, prepared.turn.entryId, ports);
  await takeUpSends(prepared, session, ports);
}
