import type { Command } from "commander";
import type { LoginFlags } from "../commands/mcp/mcp-login.ts";
import type { ServeFlags } from "../commands/mcp/mcp-serve.ts";
import type { Act } from "./act.ts";

/** `mcp …` */
export function defineMcp(program: Command, act: Act): void {
  const mcp = program.command("mcp").description("servers of the Model Context Protocol, and this gateway as one");
  mcp
    .command("list", { isDefault: true })
    .description("list the servers of the config with the tools that they had last (the default)")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { json?: boolean }) =>
        (await import("../commands/mcp/mcp-list.ts")).mcpList(io, options),
      ),
    );
  mcp
    .command("probe")
    .argument("[name]", "server; all unless given")
    .description("start servers, show their tools, and stop them again")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string | undefined, options: { json?: boolean }) =>
        (await import("../commands/mcp/mcp-probe.ts")).mcpProbe(io, name, options),
      ),
    );
  mcp
    .command("login")
    .argument("<name>", "server of the config that has an address")
    .description("log in at a server that wants a login (OAuth), in the browser")
    .option("--scope <scope>", "what to ask for, in the server's own words")
    .option("--port <port>", "port of this machine at which the browser comes back; any free one unless given")
    .action(
      act(async (io, name: string, options: LoginFlags) =>
        (await import("../commands/mcp/mcp-login.ts")).mcpLogin(io, name, options),
      ),
    );
  mcp
    .command("logout")
    .argument("<name>", "server of the config")
    .description("forget the login at a server")
    .action(act(async (io, name: string) => (await import("../commands/mcp/mcp-login.ts")).mcpLogout(io, name)));
  mcp
    .command("serve")
    .description("offer the gateway's sessions and agents to an MCP client over standard input and output")
    .option("--url <url>", "another gateway, ws:// or wss://")
    .option("--token <token>", "token of that gateway")
    .action(
      act(async (io, options: ServeFlags) => (await import("../commands/mcp/mcp-serve.ts")).mcpServe(io, options)),
    );
}
