import { progressOf } from "../harness/resume.ts";
import { parseDirectives } from "../reply/directives.ts";
import { stripHeartbeatToken } from "../reply/heartbeat-token.ts";
import type { SessionKey } from "../types/ids.ts";
import type { Outcome } from "../types/journal.ts";
import type { InboundMessage } from "../types/message.ts";
import type { Session, SessionEntry } from "../types/session.ts";
import { leaveBehind } from "./orphans.ts";
import type { DispatchPorts } from "./ports.ts";

/** The gateway woke the agent: nobody wrote. */
export const isHeartbeat = ({ options }: InboundMessage): boolean => options?.heartbeat !== undefined;

/** What a heartbeat's answer is held against. */
export interface BeatMeasure {
  readonly ackMaxChars: number;
  /** What the last one said, while that is news of today. */
  readonly last?: string | undefined;
}

/** The same words again within this time are no news. */
const SAME_NEWS_MS = 24 * 60 * 60 * 1000;

export function measureFor(
  { options }: InboundMessage,
  { lastHeartbeatText, lastHeartbeatSentAt }: Readonly<SessionEntry>,
  now: number,
): BeatMeasure | undefined {
  if (options?.heartbeat === undefined) return undefined;
  const isNews = lastHeartbeatSentAt !== undefined && now - lastHeartbeatSentAt < SAME_NEWS_MS;
  return { ackMaxChars: options.heartbeat.ackMaxChars, last: isNews ? lastHeartbeatText : undefined };
}

/** What of an answer is for people; empty when nothing needs attention. */
export function wordsOfBeat(text: string, { ackMaxChars, last }: BeatMeasure): string {
  const { text: rest, silent } = stripHeartbeatToken(text, ackMaxChars);
  return silent || rest === last ? "" : rest;
}

/** A heartbeat on its own sees nothing of earlier turns. They stay in the file, off the branch. */
export async function beginAfresh(session: Session, message: InboundMessage, turnId: string): Promise<void> {
  if (message.options?.heartbeat?.isolated !== true) return;
  if ((await progressOf(session, turnId)).kind === "fresh") session.branch(null);
}

export interface EndedBeat {
  readonly message: InboundMessage;
  readonly turnId: string;
  readonly outcome: Outcome;
  readonly texts: readonly string[];
  /** When the session was last used before it. */
  readonly usedAt: number;
}

export interface BeatPorts extends Pick<DispatchPorts, "clock" | "log" | "journal"> {
  readonly replies: { tellOf(key: SessionKey, text: string): void };
}

/** What an answer's messages say to people. */
export const wordsIn = (texts: readonly string[]): string =>
  texts
    .map((text) => parseDirectives(text).text)
    .filter((text) => text.trim() !== "")
    .join("\n\n");

/** A heartbeat without news leaves no trace in the conversation; what one said is known where it was said. */
export async function endBeat(beat: EndedBeat, session: Session, ports: BeatPorts): Promise<void> {
  const { clock, log, replies, journal } = ports;
  const { message, turnId, outcome, texts, usedAt } = beat;
  const { heartbeat } = message.options ?? {};
  if (!heartbeat) return;
  const words = stripHeartbeatToken(wordsIn(texts)).text;
  if (outcome.kind === "replied") {
    await session.update({ lastHeartbeatText: words, lastHeartbeatSentAt: clock.now() });
    if (heartbeat.tell !== undefined && words !== "") replies.tellOf(heartbeat.tell, words);
  } else if (heartbeat.isolated !== true) await leaveBehind(session, turnId, log, "heartbeat without news");
  // Nobody was told of them: the next turn is.
  if (heartbeat.news !== undefined && (outcome.kind === "failed" || outcome.kind === "aborted"))
    await journal.events.add(session.key, heartbeat.news);
  // Being woken is no use of a conversation: it may still grow old.
  await session.update({ updatedAt: usedAt });
}

/** Rejects when the transcript cannot be written. */
export async function noteBeat(session: Session, text: string): Promise<void> {
  const content = `[Heartbeat] Unasked, you have said in this chat:\n\n${text}`;
  await session.append({ type: "custom_message", customType: "openclaw.heartbeat", content, display: false });
}
