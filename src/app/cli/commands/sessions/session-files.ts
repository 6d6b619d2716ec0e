import { homedir } from "node:os";
import { agentOf, resolveAlias } from "../../../../sessions/keys.ts";
import { fileOf } from "../../../../sessions/rows/row.ts";
import { readRows } from "../../../../sessions/rows/read-rows.ts";
import { rowsPath } from "../../../../sessions/rows/rows-file.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { AgentId, SessionKey } from "../../../../types/ids.ts";
import type { SessionEntry } from "../../../../types/session.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { journalPath } from "../../../config/paths.ts";
import { resolveAgents } from "../../../config/settings.ts";
import type { State } from "../../state.ts";

export interface SessionOnDisk {
  readonly key: SessionKey;
  readonly agentId: AgentId;
  readonly entry: SessionEntry;
  /** Absolute path of the transcript. */
  readonly file: string;
}

/** The conversations of the state directory; reads only, so a gateway may own it. Throws SESSIONS_UNREADABLE or a journal's error. */
export async function readStoredSessions(state: State): Promise<readonly SessionOnDisk[]> {
  const { sessionsDir } = state.paths;
  const agent = defaultAgent(state);
  try {
    const rows = await readRows({ dir: sessionsDir, journal: journalPath(state.paths) }, agent);
    return [...rows].map(([key, entry]) => ({
      key,
      entry,
      agentId: agentOf(key, agent),
      file: fileOf(entry, sessionsDir),
    }));
  } catch (error) {
    if (error instanceof OpenClawError) throw error;
    throw new OpenClawError("SESSIONS_UNREADABLE", {
      message: `${rowsPath(sessionsDir)} cannot be read: ${errorText(error)}.`,
      fix: "Run: openclaw doctor",
      cause: error,
    });
  }
}

/** The conversation with this key, in any of its forms. Throws NOT_FOUND. */
export async function findStoredSession(state: State, text: string): Promise<SessionOnDisk> {
  const key = resolveAlias(text, defaultAgent(state));
  const found = (await readStoredSessions(state)).find((session) => session.key === key);
  if (found) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no session ${text}.`,
    fix: "See what there is: openclaw sessions",
  });
}

function defaultAgent({ config, paths }: State): AgentId {
  const [first] = resolveAgents(config, { home: homedir(), stateDir: paths.stateDir });
  if (!first) throw new Error("there is always an agent");
  return first.id;
}
