import { runMaintenance } from "../../maintenance/post-turn.ts";
import { abandonTurn } from "../../recovery/unanswered-turns.ts";
import type { TurnPorts } from "../ports.ts";
import { endOf, answerText } from "../run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Ends the turn as its kind says; then memory flush and compaction, while this turn still holds the session. */
export async function maintain(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const prepared = turn.get("prepared");
  const session = turn.get("session");
  const { run, candidates } = turn.get("active");
  await endAsKind(turn, ports);
  if (prepared.kind.maintenance === "full")
    await runMaintenance({ prepared, session, run, candidates, slot: turn.slot }, ports);
  return "over";
}

async function endAsKind(turn: Turn, { clock, journal, log, replies }: TurnPorts): Promise<void> {
  const { message, rows, turn: entry, kind } = turn.get("prepared");
  const outcome = turn.get("outcome");
  if (!kind.end || outcome === "unfinished") return;
  const { run, usedAt } = turn.get("active");
  const { texts } = await endOf(run);
  const messages = rows.map((row) => row.message);
  const ended = { message, messages, turnId: entry.entryId, outcome, text: answerText(texts), usedAt };
  await kind.end(ended, turn.get("session"), {
    now: () => clock.now(),
    addEvent: (key, text) => journal.events.add(key, text),
    async abandon(session, turnId, why) {
      // After a power cut the journal must not resume a turn that the transcript has left out.
      await journal.inbox.synced();
      await abandonTurn(session, turnId, log, why);
    },
    note: (key, note) => replies.notes.sentFromOther(key, note),
  });
}
