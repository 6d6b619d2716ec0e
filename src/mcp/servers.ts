import { createHash } from "node:crypto";
import type { ToolContribution } from "../types/run/tool.ts";
import { background } from "../utils/background.ts";
import { revealSecrets } from "../utils/secrets/reveal.ts";
import { once } from "../utils/share-calls.ts";
import type { McpConfig, McpServerConfig } from "./config.ts";
import type { ConnectPorts } from "./connect/connect.ts";
import { ListFile, type Known } from "./list-file.ts";
import { McpServer, type McpServerPorts } from "./server.ts";
import { contributionsOf } from "./tools/contribute.ts";
import type { Listing } from "./listing.ts";

/** Milliseconds that a turn waits for the list of a server that was never listed. The start continues after that. */
const TURN_WAITS_MS = 10_000;
/** A list that is older is made anew, while turns use it. */
const FRESH_MS = 24 * 3_600_000;

export interface McpPorts extends ConnectPorts, Pick<McpServerPorts, "clock"> {
  /** The config as it is now. */
  config(): McpConfig;
  /** The file that keeps the lists of tools. */
  readonly listPath: string;
}

interface Configured {
  readonly server: McpServer;
  /** All settings, with their secrets. */
  readonly settings: string;
}

/** The MCP servers of the config. Each is started only when a turn needs its list of tools or calls a tool. */
export class McpServers {
  readonly #ports: McpPorts;
  readonly #file: ListFile;
  readonly #servers = new Map<string, Configured>();
  #known = new Map<string, Known>();
  #read: Promise<void> | undefined;
  #tools: readonly ToolContribution[] | undefined;
  #isClosed = false;

  constructor(ports: McpPorts) {
    this.#ports = ports;
    this.#file = new ListFile(ports.listPath, ports.log);
  }

  /** Resolves when the tools of all servers are known, or after some seconds, or when the signal aborts. Never rejects. */
  async ready(signal: AbortSignal): Promise<void> {
    this.#follow();
    if (this.#servers.size === 0) return;
    this.#read ??= this.#readLists();
    await this.#read;
    const unlisted = [...this.#servers.values()].filter((one) => this.#listingOf(one) === undefined);
    for (const { server } of this.#outdated()) background("list of MCP tools", this.#wake(server), this.#ports.log);
    const starts = unlisted.filter(({ server }) => server.mayStart).map(({ server }) => this.#wake(server));
    if (starts.length === 0) return;
    const stop = Promise.withResolvers<void>();
    const forget = this.#ports.clock.after(TURN_WAITS_MS, () => stop.resolve());
    if (signal.aborted) stop.resolve();
    signal.addEventListener("abort", () => stop.resolve(), { once: true });
    await Promise.race([Promise.all(starts), stop.promise]);
    forget();
  }

  /** The tools of all servers whose lists are known. */
  tools(): readonly ToolContribution[] {
    this.#follow();
    this.#tools ??= contributionsOf(
      [...this.#servers.values()].flatMap((one) => {
        const listing = this.#listingOf(one);
        return listing ? [{ server: one.server, listing }] : [];
      }),
    );
    return this.#tools;
  }

  /** The servers whose last start or call failed, and why, partly in their own words. */
  failures(): readonly { readonly server: string; readonly why: string }[] {
    return [...this.#servers.values()].flatMap(({ server: { name, lastError } }) =>
      lastError === undefined ? [] : [{ server: name, why: lastError }],
    );
  }

  /** Ends every server. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map(({ server }) => server.close()));
    this.#servers.clear();
  }

  /** Adds and removes servers as the config says now. */
  #follow(): void {
    if (this.#isClosed) return;
    const { servers } = this.#ports.config();
    const wanted = new Map(Object.entries(servers).filter(([, { enabled }]) => enabled));
    for (const [name, { server, settings }] of this.#servers) {
      const config = wanted.get(name);
      if (config && settingsOf(config) === settings) continue;
      this.#servers.delete(name);
      this.#tools = undefined;
      background("end of an MCP server", server.close(), this.#ports.log);
    }
    for (const [name, config] of wanted) if (!this.#servers.has(name)) this.#add(name, config);
  }

  #add(name: string, config: McpServerConfig): void {
    const server = new McpServer(name, config, {
      ...this.#ports,
      idleMs: () => this.#ports.config().sessionIdleTtlMs,
      listed: (listing) => this.#listed(name, config, listing),
    });
    this.#servers.set(name, { server, settings: settingsOf(config) });
    this.#tools = undefined;
  }

  #listed(name: string, config: McpServerConfig, listing: Listing): void {
    if (this.#servers.get(name)?.server.config !== config) return;
    const { log, clock } = this.#ports;
    if (listing.leftOut > 0)
      log.warn("tools of an MCP server are left out", {
        mcpServer: name,
        count: listing.leftOut,
        tools: listing.leftOutNames ?? [],
      });
    this.#known.set(name, { settings: hashOf(config), at: clock.now(), listing });
    this.#tools = undefined;
    const kept = new Map([...this.#known].filter(([one]) => this.#servers.has(one)));
    background("list of MCP tools", this.#file.write(kept), log);
  }

  async #readLists(): Promise<void> {
    const read = await this.#file.read();
    this.#known = new Map([...read, ...this.#known]);
    this.#tools = undefined;
  }

  #listingOf({ server }: Configured): Listing | undefined {
    const known = this.#known.get(server.name);
    return known?.settings === hashOf(server.config) ? known.listing : undefined;
  }

  #outdated(): readonly Configured[] {
    const before = this.#ports.clock.now() - FRESH_MS;
    return [...this.#servers.values()].filter(
      (one) => this.#listingOf(one) !== undefined && (this.#known.get(one.server.name)?.at ?? 0) < before,
    );
  }

  /** Starts the server. Never rejects: the server has logged why it cannot be started. */
  #wake(server: McpServer): Promise<void> {
    return server.wake().catch(() => undefined);
  }
}

/** All settings with their secrets: a server with a new token is another one. */
const settingsOf = once((config: McpServerConfig): string => JSON.stringify(revealSecrets(config)));

/** Hash without the secrets, since the file keeps it. */
const hashOf = once((config: McpServerConfig): string =>
  createHash("sha256").update(JSON.stringify(config)).digest("hex"),
);
