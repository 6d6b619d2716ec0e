import { join } from "node:path";
import { McpServers } from "../../../mcp/servers.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { StatePaths } from "../../config/paths.ts";
import { packageVersion } from "../../package-root.ts";
import type { Live } from "../../live.ts";

/** The file with the lists of tools that servers had. */
export const mcpListPath = ({ stateSub }: Pick<StatePaths, "stateSub">): string => join(stateSub, "mcp-tools.json");

/** The MCP servers of the current config. Starts none. */
export const openMcp = (live: Live, { clock, log }: { readonly clock: Clock; readonly log: Log }): McpServers =>
  new McpServers({
    clock,
    log,
    config: () => live.config.mcp,
    listPath: mcpListPath(live.paths),
    version: packageVersion(),
    stateDir: live.paths.stateDir,
    env: process.env,
    secretVariables: () => live.loaded.variables,
  });
