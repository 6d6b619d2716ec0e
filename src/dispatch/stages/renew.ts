import type { TurnPorts } from "../turn/ports.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";

/** Begins a new conversation when the old one was idle for too long. The old transcript is archived. */
export async function renew(turn: Turn, { settings, kinds, clock, log }: TurnPorts): Promise<StageEnd> {
  const [row] = turn.queued.rows;
  const session = turn.get("session");
  if (!row || turn.queued.isReplay === true || session.isNew || !kinds.of(row.message).isUse) return "next";
  const why = settings().whyOver(row.message.from, session.entry.updatedAt, clock.now());
  if (why === undefined) return "next";
  await turn.get("stored");
  log.info("new conversation after idle time", { session: session.key, why });
  await session.reset(why);
  return "next";
}
