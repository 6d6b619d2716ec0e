import { parseKey } from "../../sessions/keys.ts";
import type { HookTurn, InboundMessage } from "../../types/chat/message.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { TurnKind, TurnRef } from "../../types/run/turn-kind.ts";
import type { Session } from "../../types/session.ts";

/** Name of the turn kind in messages. */
export const HOOK_KIND = "hook";

const ALONE =
  "nobody is at the keyboard, and nobody can answer a question. Your answer as plain text is sent to the " +
  "chat by itself, so do not send it with a tool as well. If there is nothing to tell, answer NO_REPLY.";
const CONTRACT = `Another program has sent this text; ${ALONE}`;
const OWN_CONTRACT = `The gateway has begun this turn by itself; ${ALONE}`;

/** The turn of a request from another program. It acts for the owner, who gave that program the token. */
export const HOOK_TURN: TurnKind = {
  name: HOOK_KIND,
  trigger: "hook",
  actsFor,
  // The mark of untrusted content: see `UntrustedContent`.
  provenance: { kind: "internal_system", sourceTool: "webhook" },
  takesCommands: false,
  queue: "alone",
  slots: "automation",
  overCap: "by_config",
  transcript: "always",
  isUse: false,
  asks: "chat",
  refusals: "logged",
  answer: "whole",
  maintenance: "full",
  begin,
  news: ({ options }) => options?.hook?.event,
  isForNextTurn: ({ options }) => options?.hook?.isForNextTurn === true,
  systemPrompt: ({ options }) => (options?.hook?.event === undefined ? contractOf(options?.hook) : undefined),
};

const contractOf = (turn: HookTurn | undefined): string => (turn?.isOwn ? OWN_CONTRACT : CONTRACT);

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  return { kind: "automation", id: `hook:${options?.hook?.name ?? "unknown"}`, setUpBy: "owner" };
}

/** Gives a conversation that only requests have the name of the latest of them. */
async function begin({ message }: TurnRef, session: Session): Promise<void> {
  const name = message.options?.hook?.name;
  const key = parseKey(session.key);
  if (name !== undefined && key.kind === "other" && key.text.startsWith("hook:"))
    await session.update({ displayName: name });
}
