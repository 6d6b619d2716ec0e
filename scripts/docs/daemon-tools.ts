import { cronTool } from "../../src/tools/cron/cron.ts";
import { gatewayTool } from "../../src/tools/gateway/gateway.ts";
import { otherSessionTools } from "../../src/tools/session/session-tools.ts";
import type { ToolContribution } from "../../src/types/run/tool.ts";

/** No tool of this list is ever called. */
async function unused(): Promise<never> {
  throw new Error("this tool only describes itself");
}

/** Tools that only a running gateway has. */
export const daemonTools: readonly ToolContribution[] = [
  cronTool(() => ({
    status: () => ({}),
    list: () => [],
    get: () => "",
    add: unused,
    update: unused,
    remove: unused,
    run: unused,
    runs: unused,
    nextCheck: unused,
    wake: unused,
  })),
  ...otherSessionTools({
    subagents: () => ({
      prefersDelegation: () => false,
      spawn: unused,
      children: () => [],
      untold: unused,
      kill: unused,
      say: unused,
      wait: unused,
    }),
    talk: () => ({ list: () => [], said: unused, send: unused, search: unused }),
  }),
  gatewayTool({ config: unused, schema: unused, edits: unused, write: unused, restart: unused }),
];
