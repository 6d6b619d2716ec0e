import { access, constants } from "node:fs/promises";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Check, CheckResult } from "../types/check.ts";
import { isPublicAddress } from "../utils/net/addresses.ts";
import type { McpConfig, McpServerConfig } from "./config.ts";
import type { Env } from "../utils/env.ts";

/** Whether the servers of the config could be started. Starts none: `openclaw mcp probe` does. */
export const mcpCheck = ({ servers }: McpConfig, env: Env): Check => ({
  id: "mcp.servers",
  title: "MCP servers",
  run: async () => {
    const enabled = Object.entries(servers).filter(([, server]) => server.enabled);
    if (enabled.length === 0) return [{ status: "skip", message: "The config has none." }];
    const found = (await Promise.all(enabled.map(([name, server]) => doubtsOf(name, server, env)))).flat();
    return found.length > 0 ? found : [{ status: "ok", message: "Their programs and addresses can be used." }];
  },
});

async function doubtsOf(name: string, { command, url, ssrfPolicy }: McpServerConfig, env: Env): Promise<CheckResult[]> {
  if (command !== undefined) return (await isProgram(command, env)) ? [] : [noProgram(name, command)];
  const host = new URL(url ?? "").hostname.replace(/^\[|\]$/g, "");
  const isAllowed = ssrfPolicy.dangerouslyAllowPrivateNetwork || ssrfPolicy.allowedHostnames.includes(host);
  if (isAllowed || !isPrivate(host)) return [];
  return [
    {
      status: "fail",
      message: `The MCP server ${name} is at ${host}, which is no public address, so the gateway does not connect to it.`,
      fix: `Add "${host}" to mcp.servers.${name}.ssrfPolicy.allowedHostnames if it is yours.`,
    },
  ];
}

const isPrivate = (host: string): boolean =>
  isIP(host) === 0 ? /(?:^|\.)(?:localhost|local|internal)$/.test(host) : !isPublicAddress(host);

const noProgram = (name: string, command: string): CheckResult => ({
  status: "fail",
  message: `The program ${command} of the MCP server ${name} was not found.`,
  fix: `Install it, or correct mcp.servers.${name}.command.`,
});

async function isProgram(command: string, env: Env): Promise<boolean> {
  const path = command.startsWith("~/") ? join(env["HOME"] ?? homedir(), command.slice(2)) : command;
  const places = isAbsolute(path) ? [path] : (env["PATH"] ?? "").split(delimiter).map((dir) => join(dir, path));
  const found = await Promise.all(places.map(canRun));
  return found.includes(true);
}

const canRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
