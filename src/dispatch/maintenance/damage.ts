import type { Journal } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Session } from "../../types/session.ts";
import type { Compactions } from "./compactions.ts";

interface DamagePorts {
  readonly journal: Pick<Journal, "values">;
  readonly compactions: Pick<Compactions, "sendNotice">;
}

const DAMAGED =
  "A part of this conversation cannot be read any more, so I do not know what was said there. Nothing was deleted: the rest is as it was, and the operator can see the file with `openclaw doctor`.";

/**
 * Tells the chat once that a part of its conversation cannot be read, and again when another part turns out to be so. Rejects
 * when the journal or the transcript cannot be written.
 */
export async function tellDamage(session: Session, to: Peer | undefined, ports: DamagePorts): Promise<void> {
  const places = session.damagedPlaces;
  if (places === 0) return;
  const told = `transcript-damage:${session.id}`;
  if (Number((await ports.journal.values.get(told)) ?? 0) >= places) return;
  await ports.compactions.sendNotice(
    session,
    { key: `damage:${session.id}:${places}`, text: DAMAGED, because: "error" },
    to,
  );
  await ports.journal.values.set(told, String(places));
}
