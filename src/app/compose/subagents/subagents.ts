import { SubagentRuns } from "../../../automation/spawn/subagents.ts";
import type { Subagents } from "../../../types/subagent/subagent.ts";
import type { Dispatch } from "../../../dispatch/dispatch.ts";
import type { DispatchPorts } from "../../../dispatch/ports.ts";
import type { Journal } from "../../../types/journal.ts";
import type { Sessions } from "../../../types/session.ts";
import type { Live } from "../../live.ts";

interface SubagentSources {
  readonly dispatch: Dispatch;
  readonly journal: Pick<Journal, "inbox">;
  readonly sessions: Sessions;
  readonly ports: DispatchPorts;
}

/** The subagents of this gateway: runs that plugins and tools ask for. */
export function openSubagents(live: Live, { dispatch, journal, sessions, ports }: SubagentSources): Subagents {
  return new SubagentRuns({
    clock: ports.clock,
    inbox: journal.inbox,
    sessions,
    hooks: ports.runs.hooks,
    rules: () => ({
      ...ports.settings(),
      maxSpawnDepth: live.config.agents.defaults.subagents.maxSpawnDepth,
    }),
    receive: (messages) => dispatch.receive(messages),
    decided: (row) => dispatch.decided(row),
    runOf: (id) => dispatch.registry.find(id),
    afterRuns: (key, work) => dispatch.afterRuns(key, work),
  });
}
