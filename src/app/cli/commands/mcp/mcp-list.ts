import { ListFile } from "../../../../mcp/list-file.ts";
import type { McpServerConfig } from "../../../../mcp/config.ts";
import { mcpListPath } from "../../../compose/mcp/open-mcp.ts";
import { shownConfig } from "../../../config/shown.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState } from "../../state.ts";
import { table } from "../../table.ts";

/** Lists the servers of the config. Starts none: the tools are those of the last start. */
export async function mcpList(io: Io, { json }: { readonly json?: boolean }): Promise<number> {
  const { config, paths } = await requireState(io);
  const known = await new ListFile(mcpListPath(paths), { warn: (message) => io.err(`${message}\n`) }).read();
  const servers = Object.entries(config.mcp.servers).map(([name, server]) => ({
    name,
    enabled: server.enabled,
    transport: transportOf(server),
    target: String(shownConfig(server.url ?? server.command)),
    tools: known.get(name)?.listing.tools.map((tool) => tool.name) ?? null,
  }));
  if (json === true) writeJson(io, { servers });
  else if (servers.length === 0) io.out("The config has no MCP server (mcp.servers).\n");
  else {
    const rows = servers.map(({ name, enabled, transport, target, tools }) => [
      name,
      enabled ? "on" : "off",
      transport,
      target,
      tools ? String(tools.length) : "not started yet",
    ]);
    io.out(table(io, ["NAME", "STATE", "TRANSPORT", "TARGET", "TOOLS"], rows));
  }
  return 0;
}

const transportOf = ({ transport, command }: McpServerConfig): string =>
  transport ?? (command === undefined ? "streamable-http" : "stdio");
