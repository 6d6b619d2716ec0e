import { progressOf } from "../harness/run/resume.ts";
import { stripHeartbeatToken } from "../reply/heartbeat-token.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import type { Session, SessionEntry } from "../types/session.ts";
import type { AnswerFilter, EndedTurnRef, TurnEndPorts, TurnKind, TurnRef } from "../types/run/turn-kind.ts";

/** The same words again within this time are no news. */
const SAME_NEWS_MS = 24 * 60 * 60 * 1000;

/** Nobody wrote: the gateway wakes the agent. Whoever edits the config set it up. */
export const HEARTBEAT_TURN: TurnKind = {
  name: "heartbeat",
  trigger: "heartbeat",
  actsFor: { kind: "automation", id: "heartbeat", setUpBy: "owner" },
  provenance: { kind: "internal_system", sourceTool: "heartbeat" },
  takesCommands: false,
  queue: "alone",
  overCap: "first",
  transcript: "when_replied",
  isUse: false,
  asks: "chat",
  refusals: "logged",
  // Only the whole answer says whether there is any news.
  answer: "whole",
  maintenance: "none",
  news: ({ options }) => options?.heartbeat?.news,
  promptFiles: ({ options }) => (options?.heartbeat?.light === true ? "light" : "all"),
  begin,
  filter: filterFor,
  end,
};

/** An isolated heartbeat sees nothing of earlier turns. They stay in the file, off the branch. */
async function begin({ message, turnId }: TurnRef, session: Session): Promise<void> {
  if (message.options?.heartbeat?.isolated !== true) return;
  if ((await progressOf(session, turnId)).kind === "fresh") session.branch(null);
}

/** Drops the token that says "nothing to tell", and words that were said already today. */
function filterFor(
  { options }: InboundMessage,
  { lastHeartbeatText, lastHeartbeatSentAt }: Readonly<SessionEntry>,
  now: number,
): AnswerFilter | undefined {
  const heartbeat = options?.heartbeat;
  if (heartbeat === undefined) return undefined;
  const isNews = lastHeartbeatSentAt !== undefined && now - lastHeartbeatSentAt < SAME_NEWS_MS;
  return (text) => {
    const { text: rest, silent } = stripHeartbeatToken(text, heartbeat.ackMaxChars);
    return silent || (isNews && rest === lastHeartbeatText) ? "" : rest;
  };
}

/** A heartbeat without news leaves no trace in the conversation; what one said is known in the chat that got it. */
async function end(turn: EndedTurnRef, session: Session, ports: TurnEndPorts): Promise<void> {
  const { message, turnId, outcome, usedAt } = turn;
  const heartbeat = message.options?.heartbeat;
  if (!heartbeat) return;
  if (outcome.kind === "replied") await keep(stripHeartbeatToken(turn.text).text, message, session, ports);
  else if (heartbeat.isolated !== true) await ports.abandon(session, turnId, "heartbeat without news");
  // Nobody was told of them: the next turn is.
  if (heartbeat.news !== undefined && (outcome.kind === "failed" || outcome.kind === "aborted"))
    await ports.addEvent(session.key, heartbeat.news);
  // Being woken is no use of a conversation: it may still grow old.
  await session.update({ updatedAt: usedAt });
}

async function keep(words: string, { options }: InboundMessage, session: Session, ports: TurnEndPorts): Promise<void> {
  await session.update({ lastHeartbeatText: words, lastHeartbeatSentAt: ports.now() });
  const tell = options?.heartbeat?.tell;
  if (tell === undefined || words === "") return;
  ports.note(tell, {
    customType: "openclaw.heartbeat",
    content: `[Heartbeat] Unasked, you have said in this chat:\n\n${words}`,
  });
}
