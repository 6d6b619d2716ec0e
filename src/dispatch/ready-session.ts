import { hasOwnerRights } from "../types/principal.ts";
import type { Session } from "../types/session.ts";
import { takeUpSends } from "./earlier-boots.ts";
import { beginAfresh } from "./heartbeat.ts";
import { tidyOrphans } from "./orphans.ts";
import type { DispatchPorts } from "./ports.ts";
import { principalOf } from "./principal.ts";
import type { PreparedTurn } from "./turn.ts";

/** What a conversation needs before a turn: nothing of earlier boots hangs in the air. Rejects when it cannot be written. */
export async function readySession(prepared: PreparedTurn, session: Session, ports: DispatchPorts): Promise<void> {
  await beginAfresh(session, prepared.message, prepared.turn.entryId);
  await noteGuests(prepared, session, ports);
  await tidyOrphans(session, prepared.turn.entryId, ports);
  await takeUpSends(prepared, session, ports);
}

/** What guests say stays out of the notes that everybody's prompts read; see `makeRoom`. */
async function noteGuests({ rows }: PreparedTurn, session: Session, ports: DispatchPorts): Promise<void> {
  if (session.entry.heardGuests === true || hasOwnerRights(principalOf(rows, ports.settings()))) return;
  await session.update({ heardGuests: true }, { now: true });
}
