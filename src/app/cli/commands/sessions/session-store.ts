import { homedir } from "node:os";
import { sessionsInUse } from "../../../../automation/sessions-in-use.ts";
import { SessionMaintenance } from "../../../../sessions/maintenance/maintenance.ts";
import { openSessions } from "../../../../sessions/sessions.ts";
import { acquireStateLock } from "../../../../store/lock/lock.ts";
import { systemClock } from "../../../../types/clock.ts";
import { DEFAULT_AGENT, type AgentId } from "../../../../types/ids.ts";
import type { Sessions } from "../../../../types/session.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { journalPath } from "../../../config/paths.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { openLog } from "../../../log/log.ts";
import type { State } from "../../state.ts";
import { withJournal } from "../../with-journal.ts";

/** The sessions of a state directory that this process owns. */
export interface OwnedSessions {
  readonly sessions: Sessions;
  readonly maintenance: SessionMaintenance;
}

/** Owns the state directory for one piece of work while no gateway runs. Throws STATE_LOCKED while one does. */
export async function withSessions<T>(state: State, work: (owned: OwnedSessions) => Promise<T>): Promise<T> {
  const { paths, config } = state;
  const lock = await acquireStateLock(paths.stateDir);
  const { level, redactPatterns } = config.logging;
  const log = openLog({ dir: paths.logs, level, consoleLevel: "silent", consoleStyle: "pretty", redactPatterns });
  try {
    return await withJournal(journalPath(paths), async (journal) => {
      const agents = agentsOfState(state);
      const defaultAgent = defaultAgentOf(state);
      const dir = paths.sessionsDir;
      const cwdFor = (id: AgentId) => agents.find((agent) => agent.id === id)?.workspace ?? paths.workspace;
      const sessions = await openSessions({ dir, table: journal.sessions, cwdFor, log, defaultAgent });
      const maintenance = new SessionMaintenance({
        dir,
        sessions,
        defaultAgent,
        rules: () => config.session.maintenance,
        inUse: () => sessionsInUse(journal, defaultAgent),
        isBusy: () => false,
        clock: systemClock,
        log,
      });
      try {
        return await work({ sessions, maintenance });
      } finally {
        await sessions.close();
      }
    });
  } finally {
    log.flush();
    await lock.release();
  }
}

export const agentsOfState = ({ config, paths }: State): readonly AgentSettings[] =>
  resolveAgents(config, { home: homedir(), stateDir: paths.stateDir });

export const defaultAgentOf = (state: State): AgentId => agentsOfState(state)[0]?.id ?? DEFAULT_AGENT;
