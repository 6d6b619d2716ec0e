import type { Clock } from "../types/clock.ts";
import { backoff } from "../utils/backoff.ts";
import { background } from "../utils/background.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { McpServerConfig } from "./config.ts";
import { connectServer, type ConnectPorts, type ServerLink } from "./connect/connect.ts";
import { type Listing, listTools } from "./listing.ts";

/** Milliseconds before a server that failed is started again: 1 s at first, doubled with each failure. */
const RESTART = { firstMs: 1000, longestMs: 300_000 };
/** Milliseconds between two requests for the tools of a server that reports changes of them. */
const RELIST_MS = 1000;
const PING_MS = 5000;

export interface McpServerPorts extends ConnectPorts {
  readonly clock: Clock;
  /** Milliseconds without a call after which the server is stopped; 0 for never. */
  idleMs(): number;
  /** Called whenever the server has listed its tools. */
  listed(listing: Listing): void;
}

/** Why a request has no result. The message is the gateway's own; `words` are the server's, which nobody may trust. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  readonly words: string | undefined;

  constructor(message: string, words?: string) {
    super(message);
    this.words = words;
  }
}

interface Open {
  readonly link: ServerLink;
  /** Ends the requests that wait for an answer. */
  waiting: AbortController;
}

/** A request to a server. */
export interface McpRequest {
  readonly method: "tools/call" | "resources/list" | "resources/read";
  readonly params: Readonly<Record<string, unknown>>;
}

/** A server of the config. It runs from the first call until it has been idle for a while. */
export class McpServer {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly #ports: McpServerPorts;
  #open: Open | undefined;
  #opening: Promise<Open> | undefined;
  #failures = 0;
  #notBefore = 0;
  #lastError: string | undefined;
  #calls = 0;
  #isClosed = false;
  readonly #closing = new AbortController();
  #forgetIdle: () => void = () => undefined;
  #relisting = false;
  #isStale = false;

  constructor(name: string, config: McpServerConfig, ports: McpServerPorts) {
    this.name = name;
    this.config = config;
    this.#ports = ports;
  }

  get isRunning(): boolean {
    return this.#open !== undefined;
  }

  /** Whether a start may be tried now. */
  get mayStart(): boolean {
    return !this.#isClosed && this.#ports.clock.now() >= this.#notBefore;
  }

  /** Why the last start or call failed, partly in the server's words; undefined after a success. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Starts the server if it does not run, which lists its tools. Rejects with `McpFailure`. */
  async wake(): Promise<void> {
    await this.#opened();
    this.#rest();
  }

  /**
   * Sends a request, for which the server is started if it does not run. Never sent twice: a call may have effects. Rejects with
   * `McpFailure`, also when the server answers with an error.
   */
  async request(request: McpRequest, signal: AbortSignal): Promise<unknown> {
    const open = await this.#opened();
    const { waiting } = open;
    this.#calls += 1;
    this.#forgetIdle();
    try {
      const answer = await this.#ask(open, request, AbortSignal.any([signal, waiting.signal]));
      this.#failures = 0;
      this.#lastError = undefined;
      return answer;
    } catch (error) {
      if (signal.aborted) throw new McpFailure("Aborted.");
      throw waiting.signal.reason instanceof McpFailure ? waiting.signal.reason : await this.#failureOf(error, open);
    } finally {
      this.#calls -= 1;
      this.#rest();
    }
  }

  /** Ends the server and all its processes. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    this.#forgetIdle();
    // A start that failed has been logged, and left nothing to close.
    const open = this.#open ?? (await this.#opening?.catch(() => undefined));
    await this.#drop(open);
  }

  async #ask({ link }: Open, { method, params }: McpRequest, signal: AbortSignal): Promise<unknown> {
    const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const options = { timeout: this.config.requestTimeoutMs, signal };
    return link.client.request({ method, params }, ResultSchema, options);
  }

  async #opened(): Promise<Open> {
    if (this.#isClosed) throw new McpFailure(`The MCP server ${this.name} is not in the config any more.`);
    if (this.#open) return this.#open;
    if (this.#opening) return this.#opening;
    const waitMs = this.#notBefore - this.#ports.clock.now();
    if (waitMs > 0) throw this.#laterFailure(Math.ceil(waitMs / 1000));
    this.#opening = this.#start().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  #laterFailure(seconds: number): McpFailure {
    return new McpFailure(
      `The MCP server ${this.name} has failed. The first call after ${seconds} s starts it again.`,
      this.#lastError,
    );
  }

  async #start(): Promise<Open> {
    let open: Open | undefined;
    let lost: string | undefined;
    try {
      const link = await connectServer(
        this.name,
        this.config,
        { ...this.#ports, signal: this.#closing.signal },
        {
          closed: (why) => {
            lost = why;
            this.#lost(open, why);
          },
          tooLarge: (bytes) => open && this.#endWaiting(open, bytes),
        },
      );
      open = { link, waiting: new AbortController() };
      await this.#list(link);
      await this.#heedChanges(link);
      this.#open = open;
      return open;
    } catch (error) {
      await open?.link.close();
      const why = lost ?? reasonOf(error);
      this.#failed(why);
      throw new McpFailure(`The MCP server ${this.name} could not be started.`, why);
    }
  }

  /** Aborts all waiting requests, because it is unknown which request the answer was for. */
  #endWaiting(open: Open, bytes: number): void {
    const { waiting } = open;
    open.waiting = new AbortController();
    waiting.abort(
      new McpFailure(`The answer of the MCP server ${this.name} has ${bytes} bytes, which is too much. Ask for less.`),
    );
  }

  async #list({ client }: ServerLink): Promise<void> {
    this.#ports.listed(await listTools(client, this.config.connectionTimeoutMs));
  }

  /** The list of a changed server is for the next turn: a turn keeps the tools that it began with. */
  async #heedChanges(link: ServerLink): Promise<void> {
    const { ToolListChangedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
    link.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      if (this.#relisting) {
        this.#isStale = true;
        return;
      }
      this.#relisting = true;
      this.#ports.clock.after(RELIST_MS, () => background("list of MCP tools", this.#relist(link), this.#ports.log));
    });
  }

  async #relist(link: ServerLink): Promise<void> {
    this.#isStale = false;
    try {
      if (this.#open?.link === link) await this.#list(link);
    } catch (error) {
      this.#ports.log.warn("an MCP server did not list its changed tools", { mcpServer: this.name, error });
    }
    this.#relisting = this.#isStale && this.#open?.link === link;
    if (this.#relisting)
      this.#ports.clock.after(RELIST_MS, () => background("list of MCP tools", this.#relist(link), this.#ports.log));
  }

  async #failureOf(error: unknown, open: Open): Promise<McpFailure> {
    const kind = await kindOf(error);
    if (kind === "refused") return new McpFailure(`The MCP server ${this.name} refused the call.`, errorText(error));
    if (kind === "late") {
      background("look at an MCP server", this.#endIfHung(open), this.#ports.log);
      const seconds = this.config.requestTimeoutMs / 1000;
      return new McpFailure(`The MCP server ${this.name} did not answer within ${seconds} s. It may still be at work.`);
    }
    if (this.#open === open) {
      this.#open = undefined;
      this.#failed(reasonOf(error));
      background("end of an MCP server", this.#drop(open), this.#ports.log);
    }
    return new McpFailure(
      `The MCP server ${this.name} ended during the call. Nobody knows whether the call had an effect.`,
      this.#lastError,
    );
  }

  /** A server that does not even answer a ping is ended, so that the next call starts it anew. */
  async #endIfHung(open: Open): Promise<void> {
    if (this.#open !== open) return;
    try {
      await open.link.client.ping({ timeout: PING_MS });
    } catch {
      // Every failure means the same here: the server cannot be used.
      if (this.#open !== open) return;
      this.#open = undefined;
      this.#failed("it does not answer any more");
      await this.#drop(open);
    }
  }

  /** The end of a connection that this process did not ask for. */
  #lost(open: Open | undefined, why: string | undefined): void {
    if (!open || this.#open !== open) return;
    this.#open = undefined;
    this.#failed(why ?? "it closed the connection");
    background("end of an MCP server", this.#drop(open), this.#ports.log);
  }

  #failed(why: string): void {
    if (this.#isClosed) return;
    const waitMs = backoff(this.#failures, RESTART);
    this.#failures += 1;
    this.#notBefore = this.#ports.clock.now() + waitMs;
    this.#lastError = why;
    this.#ports.log.warn("an MCP server failed", { mcpServer: this.name, why, failures: this.#failures });
  }

  #rest(): void {
    this.#forgetIdle();
    const idleMs = this.#ports.idleMs();
    if (idleMs === 0 || this.#calls > 0 || !this.#open) return;
    this.#forgetIdle = this.#ports.clock.after(idleMs, () => {
      const open = this.#open;
      this.#ports.log.info("an idle MCP server is stopped", { mcpServer: this.name });
      background("end of an idle MCP server", this.#drop(open), this.#ports.log);
    });
  }

  async #drop(open: Open | undefined): Promise<void> {
    if (!open) return;
    if (this.#open === open) this.#open = undefined;
    await open.link.close();
  }
}

/** The JSON-RPC error of a request that had no answer in its time, as the SDK numbers it. */
const REQUEST_TIMEOUT = -32001;
const CONNECTION_CLOSED = -32000;

async function kindOf(error: unknown): Promise<"refused" | "late" | "broken"> {
  const { McpError } = await import("@modelcontextprotocol/sdk/types.js");
  if (!(error instanceof McpError) || error.code === CONNECTION_CLOSED) return "broken";
  return error.code === REQUEST_TIMEOUT ? "late" : "refused";
}

function reasonOf(error: unknown): string {
  const text = errorText(error).replaceAll(/\s+/g, " ").slice(0, 500);
  if (error instanceof Error && "code" in error && error.code === REQUEST_TIMEOUT) return "it did not answer in time";
  if (error instanceof Error && error.cause instanceof Error && /fetch failed/.test(text))
    return errorText(error.cause);
  return text;
}
