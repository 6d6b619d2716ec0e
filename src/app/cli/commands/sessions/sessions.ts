import type { z } from "zod";
import { readHistory } from "../../../../sessions/transcript/history.ts";
import {
  type ListedSession,
  sessionAnswers,
  shownMessage,
  type ShownMessage,
  type TranscriptEntry,
} from "../../../../types/session.ts";
import { hasGateway, isElsewhere } from "../../address.ts";
import { callOnce, withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { answerHere, readState, type State } from "../../state.ts";
import { dim } from "../../table.ts";
import { messageText } from "../message/message-text.ts";
import { findStoredSession, readStoredSessions } from "./session-files.ts";
import { sessionRows } from "./session-rows.ts";

export interface SessionListFlags {
  readonly json?: boolean;
  readonly active?: number;
  readonly agent?: string;
  readonly limit?: number;
}

/** Conversations, the latest first: the gateway's answer, or the files when none runs. */
export async function sessionsList(io: Io, flags: SessionListFlags): Promise<number> {
  const state = await readState(io);
  const sessions = hasGateway(io, state) ? await askGateway(io, state, flags) : await readRows(state, flags);
  if (flags.json === true) writeJson(io, { count: sessions.length, sessions });
  else io.out(sessionRows(io, sessions));
  return 0;
}

const PAGE = 200;

/** All sessions, or `limit`. They are asked for in pages, so that no answer delays the gateway's other work. */
function askGateway(
  io: Io,
  state: State,
  { active, agent, limit = Infinity }: SessionListFlags,
): Promise<readonly ListedSession[]> {
  return withGateway(io, state, async (client) => {
    // A session that is used meanwhile moves to the first page, so another one may be on two pages.
    const found = new Map<string, ListedSession>();
    for (let offset: number | null = 0; offset !== null && found.size < limit;) {
      const params = { activeMinutes: active, agentId: agent, offset, limit: Math.min(PAGE, limit - found.size) };
      const page: z.output<typeof sessionAnswers.list> = await client.call(
        "sessions.list",
        params,
        sessionAnswers.list,
      );
      for (const row of page.sessions) found.set(row.key, row);
      offset = page.nextOffset ?? null;
    }
    return [...found.values()];
  });
}

async function readRows(state: State, { active, agent, limit }: SessionListFlags): Promise<readonly ListedSession[]> {
  const since = active === undefined ? 0 : Date.now() - active * 60_000;
  const stored = await readStoredSessions(state);
  const rows = stored
    .map(({ key, agentId, entry }) => ({ ...entry, key, agentId, model: entry.modelOverride }))
    .filter((row) => row.updatedAt >= since && (agent === undefined || row.agentId === agent))
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, limit);
  return answerHere(sessionAnswers.list, { sessions: rows }, state).sessions;
}

export interface ShowFlags {
  readonly json?: boolean;
  readonly limit: number;
}

/** The last messages of one conversation. Throws NOT_FOUND when there is no such one. */
export async function sessionsShow(io: Io, key: string, flags: ShowFlags): Promise<number> {
  const state = await readState(io);
  // The files of a gateway on another machine are not here.
  const session = isElsewhere(io, state) ? { key } : await findStoredSession(state, key);
  const messages =
    hasGateway(io, state) || !("file" in session)
      ? await askMessages(io, state, session.key, flags.limit)
      : (await readHistory(session.file, flags.limit)).entries.flatMap(toMessage);
  if (flags.json === true)
    writeJson(io, answerHere(sessionAnswers.history, { sessionKey: session.key, messages }, state));
  else io.out(messages.map((message) => showMessage(io, message)).join("\n"));
  return 0;
}

async function askMessages(io: Io, state: State, sessionKey: string, limit: number): Promise<readonly ShownMessage[]> {
  const call = { method: "chat.history", params: { sessionKey, limit }, shape: sessionAnswers.history };
  return (await callOnce(io, state, call)).messages;
}

const toMessage = (entry: TranscriptEntry): ShownMessage[] =>
  entry.type === "message" ? [shownMessage.parse(entry.message)] : [];

function showMessage(io: Io, message: ShownMessage): string {
  const time = message.timestamp === undefined ? "" : new Date(message.timestamp).toLocaleString("sv-SE");
  return `${dim(io, `${message.role} ${time}`.trim())}\n${withoutTerminalControls(messageText(message))}\n`;
}
