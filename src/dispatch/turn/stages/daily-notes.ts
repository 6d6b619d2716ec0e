import { bareResetIn } from "../../../prompt/stages/bare-reset.ts";
import type { DailyNote } from "../../../prompt/startup-notes.ts";
import { isOwnersAlone, type Acting } from "../../../types/run/principal.ts";
import type { Session } from "../../../types/session.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import type { DispatchPorts, QueuedTurn } from "../../ports.ts";

interface Begun {
  readonly session: Pick<Session, "isNew" | "entry">;
  readonly agent: AgentSettings;
  readonly acting: Acting;
}

/** What an owner's private conversation begins with after a bare `/new` or `/reset`. */
export async function dailyNotesFor(
  { rows, text }: QueuedTurn,
  { session, agent, acting }: Begun,
  { dailyNotes }: Pick<DispatchPorts, "dailyNotes">,
): Promise<{ readonly dailyNotes?: readonly DailyNote[] }> {
  const [first, ...also] = rows.map(({ message }) => message);
  const { startup } = agent.prompt;
  if (!first || !startup || !dailyNotes) return {};
  if (!isOwnersAlone(acting) || session.entry.heardGuests === true) return {};
  const begun = { rawText: first.text, also, isNewSession: session.isNew };
  const command = bareResetIn(begun, (text ?? first.text).trim());
  return command && startup.applyOn.includes(command) ? { dailyNotes: await dailyNotes(agent) } : {};
}
