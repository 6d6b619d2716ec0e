import { randomUUID } from "node:crypto";
import type { WakeAct } from "../../../automation/hooks/acts.ts";
import { hookMessage } from "../../../automation/hooks/hook-message.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import { resolveAlias } from "../../../sessions/keys.ts";
import { MethodError } from "../../../types/method.ts";
import type { Parts } from "../parts.ts";

/** Gives a conversation a text: at once, as a turn whose answer its chat gets, or with its next turn. Throws when there is none. */
export async function wakeSession(
  { live, core }: Pick<Parts, "live" | "core">,
  { sessionKey, ...wish }: Pick<WakeAct, "text" | "mode"> & { readonly sessionKey: string },
): Promise<{ readonly ok: true }> {
  const defaultAgent = live.defaultAgent.id;
  const key = resolveAlias(sessionKey, defaultAgent);
  const entry = core.sessions.peek(key);
  if (!entry) throw new MethodError("NOT_FOUND", `there is no conversation ${sessionKey}`);
  const act: WakeAct = { kind: "wake", name: "wake", isTrusted: true, ...wish };
  const place = { sessionKey: key, to: chatOf(key, entry, defaultAgent) };
  await core.dispatch.receive([hookMessage(act, `wake:${randomUUID()}`, place, core.ports.clock.now())]);
  return { ok: true };
}
