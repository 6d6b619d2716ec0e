import type { InboundMessage } from "../../types/chat/message.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";

/** The name of the kind in messages. */
export const HOOK_KIND = "hook";

const CONTRACT =
  "Another program has sent this text; nobody is at the keyboard, and nobody can answer a question. Your answer as plain text is sent to the " +
  "chat by itself, so do not send it with a tool as well. If there is nothing to tell, answer NO_REPLY.";

/** The turn of a request from another program. It acts for whoever gave that program the token. */
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
  news: ({ options }) => options?.hook?.event,
  isForNextTurn: ({ options }) => options?.hook?.isForNextTurn === true,
  systemPrompt: ({ options }) => (options?.hook?.event === undefined ? CONTRACT : undefined),
};

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  return { kind: "automation", id: `hook:${options?.hook?.name ?? "unknown"}`, setUpBy: "owner" };
}
