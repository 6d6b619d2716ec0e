import { progressOf } from "../harness/run/progress.ts";
import { CHECKLIST } from "../prompt/bootstrap.ts";
import { stripHeartbeatToken } from "../reply/heartbeat-token.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import type { Session, SessionEntry } from "../types/session.ts";
import type { AnswerFilter, EndedTurnRef, TurnEndPorts, TurnKind, TurnRef } from "../types/run/turn-kind.ts";

/** Milliseconds in which the text of the last heartbeat is not sent again. */
const SAME_TEXT_MS = 24 * 60 * 60 * 1000;

/**
 * The turn of a heartbeat: nobody wrote, the gateway started the turn. It counts as set up by an owner, who edits the
 * config.
 */
export const HEARTBEAT_TURN: TurnKind = {
  name: "heartbeat",
  trigger: "heartbeat",
  actsFor: () => ({ kind: "automation", id: "heartbeat", setUpBy: "owner" }),
  provenance: { kind: "internal_system", sourceTool: "heartbeat" },
  takesCommands: false,
  queue: "alone",
  slots: "automation",
  overCap: "first",
  transcript: "when_replied",
  isUse: false,
  // Nobody waits for the turn, and a question would hold up the next heartbeat.
  asks: "nobody",
  refusals: "logged",
  // Only the whole answer shows whether there is any news.
  answer: "whole",
  maintenance: "none",
  news: ({ options }) => options?.heartbeat?.news,
  promptFiles: ({ options }) => (options?.heartbeat?.light === true ? [CHECKLIST] : undefined),
  begin,
  filter: filterFor,
  end,
};

/** Begins an isolated heartbeat, which does not see earlier turns. They stay in the file, outside its branch. */
async function begin({ message, turnId }: TurnRef, session: Session): Promise<void> {
  if (message.options?.heartbeat?.isolated !== true) return;
  if ((await progressOf(session, turnId)).kind === "fresh") session.branch(null);
}

/** Removes the token that means "nothing to report", and a text that was already sent today. */
function filterFor(
  { options }: InboundMessage,
  { lastHeartbeatText, lastHeartbeatSentAt }: Readonly<SessionEntry>,
  now: number,
): AnswerFilter | undefined {
  const heartbeat = options?.heartbeat;
  if (heartbeat === undefined) return undefined;
  const wasSentToday = lastHeartbeatSentAt !== undefined && now - lastHeartbeatSentAt < SAME_TEXT_MS;
  return (text) => {
    const { text: rest, silent } = stripHeartbeatToken(text, heartbeat.ackMaxChars);
    return silent || (wasSentToday && rest === lastHeartbeatText) ? "" : rest;
  };
}

/**
 * Removes a heartbeat without news from the conversation. The text of another is noted in the conversation of the chat
 * that got it.
 */
async function end(turn: EndedTurnRef, session: Session, ports: TurnEndPorts): Promise<void> {
  const { message, turnId, outcome, usedAt } = turn;
  const heartbeat = message.options?.heartbeat;
  if (!heartbeat) return;
  if (outcome.kind === "replied") await noteReport(stripHeartbeatToken(turn.text).text, message, session, ports);
  else if (heartbeat.isolated !== true) await ports.abandon(session, turnId, "heartbeat without news");
  // Nobody got this system event, so the next turn gets it.
  if (heartbeat.news !== undefined && (outcome.kind === "failed" || outcome.kind === "aborted"))
    await ports.addEvent(session.key, heartbeat.news);
  // A heartbeat is no use of the conversation, which may still become idle.
  await session.update({ updatedAt: usedAt });
}

async function noteReport(
  text: string,
  { options }: InboundMessage,
  session: Session,
  ports: TurnEndPorts,
): Promise<void> {
  await session.update({ lastHeartbeatText: text, lastHeartbeatSentAt: ports.now() });
  const tell = options?.heartbeat?.tell;
  if (tell === undefined || text === "") return;
  ports.note(tell, {
    customType: "openclaw.heartbeat",
    content: `[Heartbeat] Unasked, you have said in this chat:\n\n${text}`,
  });
}
