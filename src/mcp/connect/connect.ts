import { homedir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { commandEnvironment } from "../../tools/host/environment.ts";
import { newMark } from "../../tools/host/command/left-running.ts";
import type { Launch } from "../../types/run/backend.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { background } from "../../utils/background.ts";
import type { Resolve } from "../../utils/net/safe-fetch.ts";
import type { McpServerConfig } from "../config.ts";
import { connectHttp } from "./http.ts";
import { StdioTransport } from "./stdio.ts";

/** Most bytes of one message of a server. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Facts and functions that all connections share. */
export interface ConnectPorts {
  readonly log: Log;
  readonly version: string;
  readonly stateDir: string;
  readonly home?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Environment variables that the config references: a server gets them only where its `env` names them. */
  secretVariables(): readonly string[];
  /** See `GuardOptions`. */
  readonly resolve?: Resolve;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal;
}

/** Callbacks for events of a connection while it is open. */
export interface Events {
  /** The server ended, or the connection broke. Called once, also after `close`. */
  closed(why: string | undefined): void;
  /** An answer was too large to be kept; nobody knows to which request. */
  tooLarge(bytes: number): void;
}

/** An open connection to a server, past its greeting. */
export interface ServerLink {
  readonly client: Client;
  /** Ends the server's processes, or its session. Never rejects. */
  close(): Promise<void>;
}

/** Starts a server, or connects to it, and exchanges greetings. Rejects when that fails or takes longer than the config allows. */
export async function connectServer(
  name: string,
  config: McpServerConfig,
  ports: ConnectPorts,
  events: Events,
): Promise<ServerLink> {
  const { signal } = ports;
  const request = { timeout: config.connectionTimeoutMs, ...(signal && { signal }) };
  if (config.command === undefined) {
    const link = await connectHttp(
      () => makeClient(ports),
      { name, config },
      { maxBytes: MOST_BYTES, ...ports },
      request,
    );
    link.client.onclose = () => events.closed(link.why());
    return link;
  }
  const transport = new StdioTransport({
    launch: launchOf(config, config.command, ports),
    mark: newMark(ports.stateDir),
    maxBytes: MOST_BYTES,
    log: ports.log.with({ mcpServer: name }),
    tooLarge: (bytes) => events.tooLarge(bytes),
  });
  const client = await makeClient(ports);
  client.onclose = () => events.closed(transport.why);
  const stop = () => background("end of an MCP server", transport.close(), ports.log);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await client.connect(transport, request);
  } catch (error) {
    await transport.close();
    throw transport.why === undefined ? error : new Error(transport.why, { cause: error });
  } finally {
    signal?.removeEventListener("abort", stop);
  }
  return { client, close: () => transport.close() };
}

async function makeClient({ version }: ConnectPorts): Promise<Client> {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  // The gateway offers a server nothing: no files, no model, no questions to people.
  const jsonSchemaValidator = { getValidator: () => unchecked };
  return new Client({ name: "openclaw", version }, { capabilities: {}, jsonSchemaValidator });
}

/** The schemas of results are the server's own: a check would only run its expressions. */
const unchecked = (): { valid: false; data: undefined; errorMessage: string } => ({
  valid: false,
  data: undefined,
  errorMessage: "results are not checked",
});

function launchOf({ args, env, cwd = "~" }: McpServerConfig, command: string, ports: ConnectPorts): Launch {
  const home = ports.home ?? homedir();
  const kept = commandEnvironment(ports.env, {
    pathPrepend: [],
    passEnv: [],
    secretVariables: ports.secretVariables(),
  });
  const given = Object.entries(env).map(([name, value]) => [name, plain(value)]);
  return {
    argv: [expanded(command, home), ...args.map((arg) => expanded(plain(arg), home))],
    cwd: resolvePath(home, expanded(cwd, home)),
    env: { ...kept, ...Object.fromEntries(given) },
  };
}

const plain = (value: string | Secret): string => (value instanceof Secret ? value.reveal() : value);

/** There is no shell that would do it. */
const expanded = (text: string, home: string): string =>
  text === "~" || text.startsWith("~/") ? join(home, text.slice(1)) : text;
