import type { McpServerConfig } from "../../../../mcp/config.ts";
import { logIn } from "../../../../mcp/oauth/log-in.ts";
import { LoginFile } from "../../../../mcp/oauth/login-file.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { Secret } from "../../../../types/secret.ts";
import { own } from "../../../../utils/own.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { loadConfig } from "../../../config/load.ts";
import { askLine, canAsk } from "../../ask.ts";
import type { Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** Milliseconds in which a person logs in. */
const LOGIN_MS = 10 * 60_000;

export interface McpLoginFlags {
  readonly scope?: string;
  readonly port?: string;
}

/** Logs in at an MCP server in the browser, and keeps the login. Throws `OpenClawError` MCP_LOGIN when it does not work. */
export async function mcpLogin(io: Io, name: string, { scope, port }: McpLoginFlags): Promise<number> {
  const { config, stateDir } = await serverNamed(io, name);
  const wish = { name, config, stateDir, scope, ...(port !== undefined && { port: portIn(port) }) };
  try {
    const path = await logIn(wish, {
      show: (url) => io.out(`Open this address in a browser:\n  ${withoutTerminalControls(url.href)}\n`),
      pasted: (signal) => pasted(io, signal),
      signal: AbortSignal.timeout(LOGIN_MS),
    });
    io.out(`Logged in at ${name}. The login is in ${path}; a running gateway uses it from the next call on.\n`);
    return 0;
  } catch (error) {
    throw new OpenClawError("MCP_LOGIN", {
      message: `The login at ${name} did not work: ${Secret.mask(withoutTerminalControls(errorText(error)))}.`,
      fix: `Try it again: openclaw mcp login ${name}. A server without logins takes a token in mcp.servers.${name}.headers.`,
      cause: error,
    });
  }
}

/** Forgets the login at an MCP server. */
export async function mcpLogout(io: Io, name: string): Promise<number> {
  const { config, stateDir } = await serverNamed(io, name);
  const had = await new LoginFile(stateDir, name, config.url ?? "").remove();
  io.out(had ? `The login at ${name} is removed from this machine.\n` : `There was no login at ${name}.\n`);
  return 0;
}

async function serverNamed(io: Io, name: string): Promise<{ config: McpServerConfig; stateDir: string }> {
  const { paths, load } = await loadOptions(io);
  const { servers } = (await loadConfig(load)).config.mcp;
  const config = own(servers, name);
  if (config?.url !== undefined) return { config, stateDir: paths.stateDir };
  const reached = Object.keys(servers).filter((one) => own(servers, one)?.url !== undefined);
  throw new OpenClawError("NOT_FOUND", {
    message: config
      ? `The MCP server ${name} is a program, which has no login.`
      : `The config has no MCP server ${name}.`,
    fix: `Servers with an address: ${reached.join(", ") || "none"}. Add it to mcp.servers.`,
  });
}

function portIn(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new OpenClawError("USAGE", { message: `${text} is no port.`, fix: "Give a number from 1 to 65535." });
}

/** The browser may be on another machine. Without a terminal nobody pastes. */
function pasted(io: Io, signal: AbortSignal): Promise<string> {
  const never = new Promise<string>(() => undefined);
  if (!canAsk(io)) return never;
  const question = "Paste the address here if the browser cannot come back by itself: ";
  return askLine(question, signal).catch(() => never);
}
