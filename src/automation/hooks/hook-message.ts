import type { HookTurn, InboundMessage, Peer } from "../../types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, type SessionKey } from "../../types/ids.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import type { HookAct } from "./acts.ts";
import { HOOK_KIND } from "./hook-turn.ts";

/** The channel of requests from other programs. No adapter has this name. */
export const HOOK = channelId("hook");

const WAKE_PROMPT =
  "Nobody wrote: another program has reported something, see the System lines above. Tell the user what of it matters. If nothing " +
  "does, answer NO_REPLY.";

/** The conversation of a request's turn, and the chat that gets the answer. */
export interface HookPlace {
  readonly sessionKey: SessionKey;
  readonly to?: Peer | undefined;
}

/**
 * A request as a message of the inbox: durable before the request is acknowledged, run once, and with an outcome like
 * every other.
 */
export function hookMessage(
  act: HookAct,
  eventKey: string,
  { sessionKey, to }: HookPlace,
  now: number,
): InboundMessage {
  return {
    id: eventKey,
    eventKey,
    from: { channel: HOOK, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: act.name } },
    sender: { id: "gateway", name: "Hook" },
    text: act.kind === "wake" ? WAKE_PROMPT : contentOf(act.message, act),
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey,
      kind: HOOK_KIND,
      hook: turnOf(act),
      ...(to && { deliverTo: to }),
      ...(act.kind === "agent" && choiceOf(act)),
    },
  };
}

/** The text for the model: marked as untrusted, unless the config trusts its source. */
const contentOf = (text: string, { name, isTrusted }: Pick<HookAct, "name" | "isTrusted">): string =>
  isTrusted ? text : wrapUntrusted(text, { label: "Webhook", from: name, hasNotice: true });

const turnOf = (act: HookAct): HookTurn => ({
  name: act.name,
  ...(act.kind === "wake" && { event: contentOf(act.text, act), isForNextTurn: act.mode === "next-heartbeat" }),
  ...(act.kind === "agent" && act.isOwn && { isOwn: act.isOwn }),
});

function choiceOf({ model, thinking, timeoutSeconds }: Extract<HookAct, { kind: "agent" }>) {
  return {
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
  };
}
