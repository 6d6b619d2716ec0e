import { inSession } from "../../sessions/in-session.ts";
import type { Session, SessionPatch } from "../../types/session.ts";
import type { CommandContext } from "./command.ts";

/** Changes settings of the command's session, durably. A session that a run holds is changed without waiting for that run. */
export async function storeSetting(
  { key, ports }: Pick<CommandContext, "key" | "ports">,
  patch: SessionPatch,
  held?: Session,
): Promise<void> {
  if (held) return held.update(patch, { now: true });
  if ((await ports.sessions.patch(key, patch, { now: true })) !== undefined) return;
  await inSession(key, (session) => session.update(patch, { now: true }), ports);
}
