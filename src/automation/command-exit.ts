import type { InboundMessage, Peer } from "../types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, type RunId, type SessionKey } from "../types/ids.ts";
import type { Principal } from "../types/run/principal.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";

/** The channel of the turns that follow the end of a command or drawing in the background. No adapter has this name. */
export const EXEC = channelId("exec");

const EXEC_KIND = "exec";

/** The user text of the turn. */
const promptFor = (what: CommandExit["what"]): string =>
  `Nobody wrote: a ${what} that you started in the background has ended, see the System lines above. Go on with what ` +
  "waited for it, and tell the user what matters of it. If there is nothing to do or to tell, answer NO_REPLY.";

/**
 * Turn that follows the end of a command or drawing in the background. It has the rights of the turn that started the
 * command or drawing.
 */
export const EXEC_TURN: TurnKind = {
  name: EXEC_KIND,
  trigger: "exec",
  actsFor,
  provenance: { kind: "internal_system", sourceTool: "exec" },
  takesCommands: false,
  queue: "alone",
  slots: "automation",
  overCap: "first",
  transcript: "always",
  isUse: false,
  asks: "chat",
  refusals: "logged",
  answer: "whole",
  maintenance: "full",
};

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  return { kind: "automation", id: EXEC_KIND, setUpBy: options?.exec?.isOwner === true ? "owner" : "guest" };
}

/** A command or drawing in the background that ended by itself, for its conversation. */
export interface CommandExit {
  readonly what: "command" | "drawing";
  /** Unique for ever; the event key of the turn's message. */
  readonly name: string;
  readonly sessionKey: SessionKey;
  /** True when the turn that started the command or drawing had an owner's rights. */
  readonly isOwner: boolean;
  /** Names of that turn's tools, including the ones that rules about its senders and chat took away. */
  readonly tools?: readonly string[] | undefined;
  /** The run that started the command or drawing. */
  readonly by?: RunId | undefined;
  readonly now: number;
  /** The chat of the conversation; unset when it has none. */
  readonly to: Peer | undefined;
}

/** The turn as a message of the inbox: durable, run once, and with an outcome like every other. */
export function exitMessage({ what, name, sessionKey, isOwner, tools, by, now, to }: CommandExit): InboundMessage {
  return {
    id: name,
    eventKey: name,
    from: { channel: EXEC, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: sessionKey } },
    sender: { id: "gateway", name: "Exec" },
    text: promptFor(what),
    media: [],
    mentionsBot: true,
    receivedAt: now,
    options: {
      operator: true,
      sessionKey,
      kind: EXEC_KIND,
      exec: { isOwner, ...(tools && { tools }) },
      ...(to && { deliverTo: to }),
      ...(by !== undefined && { broughtBy: by }),
    },
  };
}
