import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { z } from "zod";
import { adoptTranscript, copyTranscript, type CopiedTranscript } from "../../../../sessions/import.ts";
import { agentOf, buildKey, resolveAlias, wireKey } from "../../../../sessions/keys.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { agentId, type SessionKey } from "../../../../types/ids.ts";
import { isInside } from "../../../../utils/real-path.ts";
import { isElsewhere } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { agentsOfState, defaultAgentOf, withSessions } from "./session-store.ts";

export interface SessionImportFlags {
  readonly key?: string;
  readonly agent?: string;
  /** The messages of the session are put aside. */
  readonly replace?: boolean;
  readonly json?: boolean;
}

/** Makes a transcript that of a session. Throws USAGE, and NOT_FOUND for an unknown agent. */
export async function sessionsImport(io: Io, file: string, flags: SessionImportFlags): Promise<number> {
  const state = await requireState(io);
  if (isElsewhere(io, state))
    throw new OpenClawError("USAGE", {
      message: "A gateway elsewhere cannot read files of this machine.",
      fix: "Run the command on the gateway's machine.",
    });
  const sessionId = randomUUID();
  const key = keyFor(state, sessionId, flags);
  const copied = await copy(resolve(file), { state, key, sessionId });
  try {
    await adopt(io, state, { key, sessionId, replace: flags.replace === true });
  } catch (error) {
    await rm(copied.path, { force: true });
    throw error;
  }
  const { messages, damaged } = copied;
  const shown = wireKey(key, defaultAgentOf(state));
  if (flags.json === true) writeJson(io, { ok: true, key: shown, sessionId, messages, damaged });
  else io.out(`${shown} has ${counted(messages, "message")}.${damagedText(damaged)}\n`);
  return 0;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
const damagedText = (damaged: number): string =>
  damaged === 0 ? "" : ` Of ${counted(damaged, "line")}, nothing or not all can be read.`;

function keyFor(state: State, sessionId: string, { key, agent }: SessionImportFlags): SessionKey {
  const defaultAgent = defaultAgentOf(state);
  const wanted = agent === undefined ? defaultAgent : agentId(agent);
  const made = { kind: "direct", agentId: wanted, channel: "webchat", account: "default", sender: sessionId } as const;
  const found = key === undefined ? buildKey(made, defaultAgent) : resolveAlias(key, defaultAgent);
  const owner = agentOf(found, defaultAgent);
  const isKnown = agentsOfState(state).some(({ id }) => id === owner);
  if (isKnown && (agent === undefined || owner === wanted)) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: isKnown ? `The session ${key} belongs to the agent ${owner}.` : `There is no agent ${owner}.`,
    fix: "See what there is: openclaw agents list",
  });
}

/** The header names the workspace as the header of a new session does: by the way to it, where it is in the state directory. */
function copy(source: string, to: { state: State; key: SessionKey; sessionId: string }): Promise<CopiedTranscript> {
  const { state, key, sessionId } = to;
  const { sessionsDir: dir, stateDir, workspace } = state.paths;
  const owner = agentOf(key, defaultAgentOf(state));
  const place = agentsOfState(state).find(({ id }) => id === owner)?.workspace ?? workspace;
  const cwd = isInside(place, stateDir) ? relative(dir, place) : place;
  return copyTranscript(source, { dir, key, sessionId, cwd, now: () => Date.now() });
}

const answer = z.looseObject({ ok: z.boolean() });

async function adopt(
  io: Io,
  state: State,
  asked: { readonly key: SessionKey; readonly sessionId: string; readonly replace: boolean },
): Promise<void> {
  if (state.owner) return void (await callOnce(io, state, { method: "sessions.import", params: asked, shape: answer }));
  const adopted = await withSessions(state, ({ sessions }) => adoptTranscript(sessions, { ...asked, now: Date.now() }));
  if (adopted.kind === "adopted") return;
  throw new OpenClawError("USAGE", {
    message: "The session has messages.",
    fix: "Leave out --key to begin a new session, or put its messages aside with --replace.",
  });
}
