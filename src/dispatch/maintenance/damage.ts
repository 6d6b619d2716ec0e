import type { Journal } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Session } from "../../types/session.ts";
import type { Compactions } from "./compactions.ts";

interface DamagePorts {
  readonly journal: Pick<Journal, "values">;
  readonly compactions: Pick<Compactions, "sendNotice">;
}

const DAMAGED =
  "A part of this conversation can no longer be read, so I do not know what was said there. Nothing was deleted. The operator can find the file with `openclaw doctor`.";

/**
 * Informs the chat once that a part of its conversation cannot be read, and again when a further part is damaged. Rejects when
 * the journal or the transcript cannot be written.
 */
export async function reportDamage(session: Session, to: Peer | undefined, ports: DamagePorts): Promise<void> {
  const places = session.damagedPlaces;
  if (places === 0) return;
  const key = `transcript-damage:${session.id}`;
  if (Number((await ports.journal.values.get(key)) ?? 0) >= places) return;
  await ports.compactions.sendNotice(
    session,
    { key: `damage:${session.id}:${places}`, text: DAMAGED, because: "error" },
    to,
  );
  await ports.journal.values.set(key, String(places));
}
