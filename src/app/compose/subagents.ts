import { SubagentRuns } from "../../automation/subagents/subagents.ts";
import type { Subagents } from "../../types/run/subagent.ts";
import type { Core } from "./core.ts";
import type { Live } from "./live.ts";

/** The subagents of this gateway: runs that plugins and tools ask for. */
export function openSubagents(
  live: Live,
  { dispatch, journal, sessions, ports }: Pick<Core, "dispatch" | "journal" | "sessions" | "ports">,
): Subagents {
  return new SubagentRuns({
    clock: ports.clock,
    inbox: journal.inbox,
    sessions,
    hooks: ports.hooks,
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
