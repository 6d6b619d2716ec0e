import { randomUUID } from "node:crypto";
import { SUBAGENT, subagentRunId } from "../../tools/session/spawn-names.ts";
import type { InboundMessage, SubagentTurn } from "../../types/chat/message.ts";
import { DEFAULT_ACCOUNT, type RunId, type SessionKey } from "../../types/ids.ts";
import type { SubagentRequest } from "../../types/subagent/subagent.ts";
import { defined } from "../../utils/defined.ts";
import { SUBAGENT_KIND } from "./subagent-turn.ts";

/** The session of a subagent, and how deep it is. */
export interface Place {
  readonly key: SessionKey;
  readonly depth: number;
}

export const runIdOf = ({ plugin, idempotencyKey = randomUUID() }: SubagentRequest): RunId =>
  subagentRunId(idempotencyKey, plugin);

/** Throws when the known message is another request's. */
export function requireSame({ text, options }: InboundMessage, request: SubagentRequest, key: SessionKey): void {
  if (text === request.message && options?.sessionKey === key) return;
  throw new Error("this idempotencyKey was used for another request");
}

/** A request as a message of the inbox: durable, run once, and with an outcome like every other. */
export function messageOf(
  request: SubagentRequest,
  id: RunId,
  { key, depth, now }: Place & { readonly now: number },
): InboundMessage {
  const { message: text, model, requester, spawn } = request;
  const whenEnded = spawn?.whenEnded(id, depth);
  return {
    id,
    eventKey: id,
    from: { channel: SUBAGENT, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: key } },
    sender: { id: "gateway", name: "Subagent" },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey: key,
      kind: SUBAGENT_KIND,
      subagent: turnOf(request, depth),
      ...defined({ model, timeoutMs: spawn?.timeoutMs, broughtBy: requester?.runId, whenEnded }),
    },
  };
}

const turnOf = ({ plugin, requester, systemPrompt, spawn }: SubagentRequest, depth: number): SubagentTurn => ({
  depth,
  ...(requester?.isOwner === true && { isOwner: true }),
  ...(requester && { parent: requester.sessionKey, root: requester.root ?? requester.sessionKey }),
  ...defined({ plugin, tools: requester?.tools, systemPrompt, files: spawn?.files }),
});
