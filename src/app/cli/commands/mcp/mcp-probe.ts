import type { McpServerConfig } from "../../../../mcp/config.ts";
import { McpFailure, McpServer } from "../../../../mcp/server.ts";
import { contributionsOf } from "../../../../mcp/tools/contribute.ts";
import type { Listing } from "../../../../mcp/listing.ts";
import { systemClock } from "../../../../types/clock.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { Log } from "../../../../types/log.ts";
import { Secret } from "../../../../types/secret.ts";
import { own } from "../../../../utils/own.ts";
import { loadConfig } from "../../../config/load.ts";
import { packageVersion } from "../../../package-root.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

interface Probed {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly tools: readonly string[];
  readonly error?: string;
}

/** Starts servers in this process, prints their tools as agents call them, and ends them. Exits with 1 if one cannot be started. */
export async function mcpProbe(
  io: Io,
  name: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const { paths, load } = await loadOptions(io);
  const { config, variables } = await loadConfig(load);
  const wanted = chosen(config.mcp.servers, name);
  const place = { stateDir: paths.stateDir, secretVariables: () => variables };
  const probed: Probed[] = [];
  for (const [one, server] of wanted) probed.push(await probe(io, one, server, place));
  if (json === true) writeJson(io, { servers: probed });
  else io.out(probed.length === 0 ? "The config has no MCP server that is on.\n" : probed.map(shown).join(""));
  return probed.every(({ ok }) => ok) ? 0 : 1;
}

function chosen(servers: Readonly<Record<string, McpServerConfig>>, name: string | undefined) {
  if (name === undefined) return Object.entries(servers).filter(([, { enabled }]) => enabled);
  const server = own(servers, name);
  if (server) return [[name, server] as const];
  throw new OpenClawError("NOT_FOUND", {
    message: `The config has no MCP server ${name}.`,
    fix: `The servers are: ${Object.keys(servers).join(", ") || "none"}. Add it to mcp.servers.`,
  });
}

interface Place {
  readonly stateDir: string;
  secretVariables(): readonly string[];
}

async function probe(io: Io, name: string, config: McpServerConfig, place: Place): Promise<Probed> {
  let listing: Listing = { tools: [], hasResources: false, leftOut: 0 };
  const server = new McpServer(name, config, {
    ...place,
    clock: systemClock,
    log: QUIET,
    version: packageVersion(),
    env: io.env,
    idleMs: () => 0,
    listed: (found) => (listing = found),
  });
  const began = performance.now();
  const ms = () => Math.round(performance.now() - began);
  try {
    await server.wake();
    return { name, ok: true, ms: ms(), tools: contributionsOf([{ server, listing }]).map((tool) => tool.name) };
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    const text = [error.message, error.words ?? ""].join(" ").trim();
    return { name, ok: false, ms: ms(), tools: [], error: Secret.mask(withoutTerminalControls(text)) };
  } finally {
    await server.close();
  }
}

function shown({ name, ok, ms, tools, error }: Probed): string {
  if (!ok) return `${name}: failed after ${ms} ms\n  ${error ?? ""}\n`;
  return `${name}: ${tools.length} tools after ${ms} ms\n${tools.map((tool) => `  ${tool}\n`).join("")}`;
}

const nothing = () => undefined;
/** The command prints what there is to say. */
const QUIET: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => QUIET };
