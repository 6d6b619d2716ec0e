import { hasOwnerRights } from "../../types/principal.ts";
import type { Session } from "../../types/session.ts";
import { takeUpSends } from "../recovery/earlier-sends.ts";
import { tidyOrphans } from "../recovery/unanswered-turns.ts";
import type { DispatchPorts } from "../ports.ts";
import { principalOf } from "./principal.ts";
import type { PreparedTurn } from "./prepare.ts";
import { withheldTools, withoutWithheld } from "../recovery/withheld-tools.ts";

/** What a conversation needs before a turn: nothing of earlier boots hangs in the air. Rejects when it cannot be written. */
export async function readySession(prepared: PreparedTurn, session: Session, ports: DispatchPorts): Promise<void> {
  await prepared.kind.begin?.({ message: prepared.message, turnId: prepared.turn.entryId }, session);
  await noteGuests(prepared, session, ports);
  await tidyOrphans(session, prepared.turn.entryId, ports);
  await takeUpSends(prepared, session, ports);
}

/** The tools of a turn, without those over which the process has ended. */
export async function safeTools(
  { rows: [row], turn }: PreparedTurn,
  session: Session,
  { tools, log }: Pick<DispatchPorts, "tools" | "log">,
): Promise<Pick<DispatchPorts, "tools">> {
  const names = await withheldTools(session, turn.entryId, row);
  if (names.size > 0) log.warn("tools withheld", { inbox: row?.id, tools: [...names], why: "the process ended twice" });
  return { tools: (...of) => withoutWithheld(tools(...of), names) };
}

/** What guests say stays out of the notes that everybody's prompts read; see `makeRoom`. */
async function noteGuests({ rows }: PreparedTurn, session: Session, ports: DispatchPorts): Promise<void> {
  if (session.entry.heardGuests === true || hasOwnerRights(principalOf(rows, ports))) return;
  await session.update({ heardGuests: true }, { now: true });
}
