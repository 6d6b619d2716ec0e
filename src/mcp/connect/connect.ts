import { homedir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { commandEnvironment } from "../../tools/host/environment.ts";
import { newMark, endRunning, leftRunning, MARK } from "../../tools/host/command/left-running.ts";
import type { Launch } from "../../types/run/backend.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { background } from "../../utils/background.ts";
import type { Resolve } from "../../utils/net/safe-fetch.ts";
import type { McpServerConfig } from "../config.ts";
import { connectHttp } from "./http.ts";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { startPiped, type Child } from "../../tools/host/command/child.ts";
import { endGroup, hasGroup } from "../../tools/host/command/process-group.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { Traffic } from "./traffic.ts";
import { OutputText } from "../../tools/host/command/output-text.ts";
import { KeptText } from "../../tools/host/command/kept-text.ts";

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

/** Milliseconds in which a server may end by itself once its input is closed. */
const GRACE_MS = 500;
/** Bytes after which reading pauses for `REST_MS` milliseconds, so that a flood leaves the event loop to other work. */
const BYTES_AT_ONCE = 128 * 1024;
const REST_MS = 1;

interface StdioOptions {
  readonly launch: Launch;
  /** Names the processes of this server in their environment. */
  readonly mark: string;
  readonly maxBytes: number;
  readonly log: Log;
  /** Called for an answer that was too large to be kept. */
  tooLarge(bytes: number): void;
}

/** Some servers write `null` for missing values, which the protocol does not know. */
function withoutNulls(message: unknown): unknown {
  if (!isFields(message)) return message;
  const set = (fields: Fields) => Object.entries(fields).filter(([name, value]) => value !== null || name === "id");
  const isPart = (name: string) => name === "result" || name === "params" || name === "error";
  return Object.fromEntries(
    set(message).map(([name, value]) => [
      name,
      isPart(name) && isFields(value) ? Object.fromEntries(set(value)) : value,
    ]),
  );
}

/** An answer that cannot be read, as the refusal of its request. */
function asRefusal(message: unknown): Fields | undefined {
  if (!isFields(message) || !("id" in message) || "method" in message) return undefined;
  const error = { code: -32_603, message: "The answer is not one of the protocol." };
  return { jsonrpc: "2.0", id: message["id"], error };
}

/** The standard input and output of a server's process. Its process group ends with the transport. */
class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: StdioOptions;
  readonly #lines: Lines;
  readonly #errors: ServerLog;
  readonly #traffic = new Traffic();
  #child: Child | undefined;
  #ended: Promise<void> | undefined;
  /** Why the process ended, as far as it is known. */
  why: string | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#lines = new Lines(options.maxBytes);
    this.#errors = new ServerLog(options.log);
  }

  async start(): Promise<void> {
    const { launch, mark, log } = this.#options;
    const { JSONRPCMessageSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const child = await startPiped({ ...launch, env: { ...launch.env, [MARK]: mark } }, "pipe");
    this.#child = child;
    const [output, errors] = child.sources;
    const parse = (text: string): JSONRPCMessage => {
      const message = withoutNulls(JSON.parse(text));
      const read = JSONRPCMessageSchema.safeParse(message);
      if (read.success) return read.data;
      // The request must not wait for another answer.
      return JSONRPCMessageSchema.parse(asRefusal(message) ?? message);
    };
    if (output) reading(output, (chunk) => this.#read(chunk, parse));
    if (errors) reading(errors, (chunk) => this.#errors.push(chunk));
    background("end of an MCP server", this.#follow(child), log);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#child || this.#ended) throw new Error("the server does not run");
    if ("method" in message && "id" in message) this.#traffic.asked();
    await this.#child.write(Buffer.from(`${JSON.stringify(message)}\n`));
  }

  /** Resolves when no process of the server runs any more. */
  close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #read(chunk: Buffer, parse: (text: string) => JSONRPCMessage): void {
    for (const line of this.#lines.push(chunk)) {
      if (this.#ended) return;
      if ("tooLong" in line) this.#options.tooLarge(line.tooLong);
      else if (line.text.trim() !== "") this.#take(line.text, parse);
    }
  }

  #take(text: string, parse: (text: string) => JSONRPCMessage): void {
    let message: JSONRPCMessage | undefined;
    try {
      message = parse(text);
    } catch {
      // Some servers write lines for people there; `Traffic` ends a server that writes nothing else.
      this.onerror?.(new Error("a line on the server's standard output is no message"));
    }
    const excess = this.#traffic.count(message, Date.now());
    if (excess === undefined) {
      if (message) this.onmessage?.(message);
      return;
    }
    this.why = excess;
    background("end of an MCP server", this.close(), this.#options.log);
  }

  async #follow(child: Child): Promise<void> {
    const code = await child.exited;
    const words = this.#errors.end();
    this.why ??= `its process ended ${code === null ? "by a signal" : `with code ${code}`}${words === "" ? "" : `; its last words: ${words}`}`;
    await this.close();
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.onclose?.();
    if (!child) return;
    await child.closeInput();
    await Promise.race([child.exited, rest(GRACE_MS)]);
    if (await hasGroup(child.pid)) await endGroup(child.pid);
    // Processes that left the group still have the mark.
    if ((await leftRunning(this.#options.mark)).length > 0) await this.#endMarked();
    child.close();
  }

  async #endMarked(): Promise<void> {
    const left = await endRunning(this.#options.mark);
    if (left.length > 0)
      this.#options.log.warn("processes of an MCP server still run", { processes: left.map(({ command }) => command) });
  }
}

const rest = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Reads a stream, with a rest after each piece of a flood. */
function reading(source: Child["sources"][number], take: (chunk: Buffer) => void): void {
  let since = 0;
  source.on("data", (chunk) => {
    take(chunk);
    since += chunk.length;
    if (since < BYTES_AT_ONCE) return;
    since = 0;
    source.pause();
    setTimeout(() => source.resume(), REST_MS);
  });
}

/** A line of a stream, or the fact that one was too long to be kept. */
type Line = { readonly text: string } | { readonly tooLong: number };

const NEWLINE = 10;

/** Cuts a stream of bytes into lines. Of a line with more than `most` bytes nothing is kept. */
class Lines {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#take());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#most) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): Line {
    const length = this.#length;
    const text = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#length = 0;
    return length > this.#most ? { tooLong: length } : { text };
  }
}

const MOST_LINES = 100;
const MOST_CHARS = 500;
const KEPT_CHARS = 1000;

/** The standard error of a server: a bounded number of lines goes into the log, the end is kept for error messages. */
class ServerLog {
  readonly #log: Pick<Log, "info" | "warn">;
  readonly #text = new OutputText();
  readonly #kept = new KeptText(KEPT_CHARS);
  #begun = "";
  #lines = 0;

  constructor(log: Pick<Log, "info" | "warn">) {
    this.#log = log;
  }

  /** Masks the secrets of this process. */
  push(chunk: Buffer): void {
    const text = this.#text.push(chunk);
    this.#kept.add(text);
    const lines = `${this.#begun}${text}`.split("\n");
    this.#begun = (lines.pop() ?? "").slice(0, MOST_CHARS);
    for (const line of lines) this.#write(line);
  }

  /** The last words, in one line. */
  end(): string {
    return this.#kept.text().replaceAll(/\s+/g, " ").trim().slice(-300);
  }

  #write(line: string): void {
    if (line.trim() === "" || this.#lines > MOST_LINES) return;
    this.#lines += 1;
    if (this.#lines > MOST_LINES)
      this.#log.warn("an MCP server writes much; the rest is left out until its next start");
    else this.#log.info("output of an MCP server", { line: line.slice(0, MOST_CHARS) });
  }
}
