import { existsSync } from "node:fs";
import { sessionsInUse } from "../../automation/sessions-in-use.ts";
import type { MaintenanceScene } from "../../sessions/maintenance/check.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import type { AgentId } from "../../types/ids.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";

interface ReadState {
  readonly config: Config;
  readonly paths: StatePaths;
  readonly defaultAgent: AgentId;
}

/** The sessions of a state directory, for a process that only looks at them. */
export function maintenanceScene({ config, paths, defaultAgent }: ReadState): MaintenanceScene {
  const journal = journalPath(paths);
  return {
    places: { dir: paths.sessionsDir, journal },
    rules: config.session.maintenance,
    defaultAgent,
    now: () => Date.now(),
    async inUse() {
      // A look does not create a journal.
      if (!existsSync(journal)) return new Map();
      const open = await openJournalToRead(journal);
      try {
        return await sessionsInUse(open, defaultAgent);
      } finally {
        await open.close();
      }
    },
  };
}
