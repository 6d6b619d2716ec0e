import { oneLine } from "../../prompt/untrusted.ts";
import { ANNOUNCE_SKIP, isSkip, REPLY_SKIP } from "../../reply/plain-reply.ts";
import type { InboundMessage, RelayTurn } from "../../types/chat/message.ts";
import type { Inbox } from "../../types/journal.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { Sessions } from "../../types/session.ts";
import { wireKey } from "../../sessions/keys.ts";
import type { AgentId } from "../../types/ids.ts";
import { passMark } from "../../sessions/pass-mark.ts";
import { replyOf, rowOfRun } from "./answers.ts";

/** Name of the turn kind in messages. */
export const RELAY_KIND = "relay";

export interface RelayPorts {
  readonly sessions: Pick<Sessions, "peek" | "patch" | "history">;
  readonly inbox: Pick<Inbox, "ofRun">;
  defaultAgent(): AgentId;
}

/** The turn of a message that another session's agent wrote. It has the rights of that agent's run. */
export const relayTurn = (ports: RelayPorts): TurnKind => ({
  name: RELAY_KIND,
  trigger: "subagent",
  actsFor,
  provenance: { kind: "inter_session", sourceTool: "sessions_send" },
  source: ({ options }) => (options?.relay ? { sourceSessionKey: fromOf(options.relay, ports) } : {}),
  takesCommands: false,
  queue: "alone",
  overCap: "by_config",
  transcript: "always",
  isUse: false,
  asks: "chat",
  refusals: "logged",
  answer: "whole",
  maintenance: "full",
  depth: ({ options }) => options?.relay?.depth ?? 0,
  systemPrompt: ({ options }) => (options?.relay ? promptOf(options.relay, ports) : undefined),
  filter: ({ options }) => (options?.relay?.step === "last" ? withoutSkip : undefined),
  load: (message) => load(message, ports),
});

function actsFor({ options }: Pick<InboundMessage, "options">): Principal {
  return { kind: "automation", id: RELAY_KIND, setUpBy: options?.relay?.isOwner === true ? "owner" : "guest" };
}

const withoutSkip = (text: string): string => (isSkip(text) ? "" : text);

/** The other session as agents and clients name it. */
const fromOf = ({ from }: RelayTurn, { defaultAgent }: Pick<RelayPorts, "defaultAgent">): string =>
  wireKey(from, defaultAgent());

function promptOf(relay: RelayTurn, ports: Pick<RelayPorts, "defaultAgent">): string {
  const { step, turnsLeft } = relay;
  if (step === "last")
    return (
      "# Agent-to-agent announce step\nYou have talked with the agent of another session. Your answer is now sent to the chat of this session: " +
      `write what the people there should know of it. If that is nothing, answer ${ANNOUNCE_SKIP}.`
    );
  const more = turnsLeft > 0 ? ` Up to ${turnsLeft} more answers may follow.` : "";
  return (
    `# Agent-to-agent message\nThe message is from the agent of the session ${oneLine(fromOf(relay, ports))}, not from a person. Your answer goes back to that ` +
    `agent and to no chat.${more} If the exchange is done, answer ${REPLY_SKIP}.`
  );
}

/** Takes the other agent's answer as the text; without an answer the exchange is over. */
async function load(
  message: InboundMessage,
  ports: RelayPorts,
): Promise<InboundMessage | { readonly dropped: string }> {
  const { relay, sessionKey, deliverTo } = message.options ?? {};
  if (!relay || !sessionKey) return { dropped: "it names no session" };
  if (relay.step === "last" && !deliverTo) return { dropped: "the session has no chat that could be told" };
  await passMark(relay.from, sessionKey, ports.sessions);
  if (!relay.answerOf) return message;
  const { key, runId } = relay.answerOf;
  const reply = await replyOf(await rowOfRun(runId, ports.inbox), key, ports.sessions);
  if (relay.step === "answer")
    return reply === undefined ? { dropped: "the exchange between the agents is over" } : { ...message, text: reply };
  if (reply === undefined) return { dropped: "there was no answer to tell of" };
  return { ...message, text: `${message.text}\n\nYour first answer:\n${reply}` };
}
