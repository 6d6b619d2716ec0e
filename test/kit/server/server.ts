import type { LookupFunction } from "node:net";
import { WebSocket, type ClientOptions as WebSocketOptions, type RawData } from "ws";
import { z } from "zod";
import { startServer } from "../../../src/server/server.ts";
import type {
  AccessOptions,
  Catalog,
  Reports,
  Server,
  ServerOptions,
  ServerPorts,
} from "../../../src/server/options.ts";
import { keyNames } from "../../../src/sessions/shown/wire-keys.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { DEFAULT_AGENT, agentId, mediaId } from "../../../src/types/ids.ts";
import type { Log } from "../../../src/types/log.ts";
import type { GatewayEvent } from "../../../src/types/method.ts";
import type { ModelInfo } from "../../../src/types/run/model.ts";
import { Secret } from "../../../src/types/secret.ts";
import { Feed } from "../../../src/utils/feed.ts";
import { checkAnswer } from "../gateway/rpc.ts";
import { MemorySessions } from "./memory-sessions.ts";
import { ends, says, ScriptedChat } from "./scripted-chat.ts";

export const TOKEN = "a-token-of-the-tests";

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silent,
};

export const MODEL: ModelInfo = {
  provider: "demo",
  id: "echo-agent",
  name: "Echo",
  contextWindow: 32_000,
  maxTokens: 4_000,
  reasoning: false,
  input: ["text"],
  demo: true,
};

const COMMAND = {
  name: "status",
  textAliases: ["/status"],
  description: "Show the state.",
  source: "native",
  acceptsArgs: false,
} as const;

export const CATALOG: Catalog = {
  agents: () => [{ id: DEFAULT_AGENT }, { id: agentId("coder"), name: "Coder" }],
  defaultAgent: DEFAULT_AGENT,
  models: async () => [{ ...MODEL, available: true }],
  forInput: async () => ({ models: [MODEL], commands: [COMMAND] }),
  defaultModel: () => MODEL,
  rightsOf: async () => ({}),
  settingsOf: async () => ({
    verboseLevel: { value: "on", source: "session", default: "off", choices: ["off", "on"] },
  }),
};

const REPORTS: Reports = {
  status: () => ({ config: { problems: [] } }),
  health: () => ({ channels: {}, channelOrder: [] }),
  ready: () => ({ ok: true, problems: [] }),
  snapshot: () => ({ stateDir: "/state" }),
  metrics: () => "openclaw_up 1\n",
  tailLogs: async () => ({ file: "/state/log", cursor: 3, size: 3, lines: ["a", "b"] }),
  machine: async () => ({
    machineName: "machine",
    hostname: "machine",
    platform: "linux",
    release: "6",
    arch: "x64",
    osLabel: "Linux 6",
    nodeVersion: "v24",
    pid: 1,
    uptimeMs: 1,
    cpuCount: 1,
    loadAverage: [0, 0, 0],
    memoryTotalBytes: 2,
    memoryFreeBytes: 1,
  }),
};

export interface TestServer {
  readonly server: Server;
  readonly url: string;
  readonly http: string;
  readonly chat: ScriptedChat;
  readonly sessions: MemorySessions;
  readonly events: Feed<GatewayEvent>;
  readonly stored: { bytes: Uint8Array; mime?: string; name?: string }[];
}

export interface Overrides {
  readonly options?: Partial<ServerOptions>;
  readonly access?: Partial<AccessOptions>;
  readonly ports?: Partial<ServerPorts>;
  readonly reports?: Partial<Reports>;
}

/** A server on a free port whose ports are played by the test. */
export async function startTestServer(overrides: Overrides = {}): Promise<TestServer> {
  const chat = new ScriptedChat((run) => run.tell(...says("Hello from the script."), ends()));
  const sessions = new MemorySessions();
  let groups: readonly string[] = [];
  let devices: string | undefined;
  let pushed: string | undefined;
  const events = new Feed<GatewayEvent>();
  const stored: TestServer["stored"] = [];
  const options: ServerOptions = {
    host: "127.0.0.1",
    port: 0,
    access: {
      token: new Secret(TOKEN),
      allowedOrigins: ["https://chat.example.org"],
      rateLimit: { maxAttempts: 3, windowMs: 60_000, lockoutMs: 300_000 },
      takesDeviceTokens: true,
      ...overrides.access,
    },
    version: "0.1.0-test",
    methods: async () => [],
    added: { methods: [], httpRoutes: [] },
    eventNames: ["sessions.changed", "pairing.requested"],
    sessionsFile: "/state/sessions.json",
    openAi: {
      chatCompletions: true,
      responses: true,
      conversationHeaders: ["X-OpenWebUI-Chat-Id", "X-Conversation-Id"],
    },
    ...overrides.options,
  };
  const ports: ServerPorts = {
    chat,
    sessions,
    devices: { read: async () => devices, write: async (text) => void (devices = text) },
    push: {
      store: { read: async () => pushed, write: async (text) => void (pushed = text) },
      env: {},
      allowPrivate: () => true,
    },
    sessionGroups: { read: async () => groups, write: async (names) => void (groups = names) },
    media: {
      path: (id) => `/nowhere/${id}`,
      read: async (id) => {
        const at = Number(/^m(\d+)$/.exec(id)?.[1]) - 1;
        if (!stored[at]) throw new Error("no such file");
        return stored[at].bytes;
      },
      typeOf: async (_bytes, { mime = "application/octet-stream" }) => mime,
      put: async (bytes, about) => {
        stored.push({ bytes, ...about });
        return { id: mediaId(`m${stored.length}`), mime: about.mime ?? "image/png", path: "/m", bytes: bytes.length };
      },
    },
    pairing: {
      list: async () => [],
      turnedAway: async () => [],
      approve: async () => undefined,
      admitted: async () => [],
      reject: async () => undefined,
      revoke: async () => [],
      notify: async () => ({ state: "sent" }),
    },
    keys: keyNames(() => DEFAULT_AGENT),
    callTool: async () => ({ kind: "missing" }),
    embed: async () => ({ kind: "none", why: "the test has no vectors" }),
    catalog: CATALOG,
    reports: { ...REPORTS, ...overrides.reports },
    events: (signal) => events.watch(signal),
    log: silent,
    clock: systemClock,
    ...overrides.ports,
  };
  const server = await startServer(options, ports);
  const address = `127.0.0.1:${server.port}`;
  return { server, url: `ws://${address}`, http: `http://${address}`, chat, sessions, events, stored };
}

type Frame = Record<string, unknown>;
const textOf = (data: RawData) => (Buffer.isBuffer(data) ? data.toString("utf8") : "");
const isFrame = (value: unknown): value is Frame => typeof value === "object" && value !== null;

const refused = z.looseObject({
  ok: z.literal(false),
  error: z.looseObject({ code: z.string(), message: z.string(), details: z.looseObject({}).optional() }),
});

export interface ClientOptions extends Pick<WebSocketOptions, "autoPong" | "ca" | "localAddress"> {
  readonly lookup?: LookupFunction;
}

/** A plain client: keeps every frame, and waits for the one that a test asks for. */
export class RawClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #feed = new Feed<Frame>();
  #next = 1;

  /** `autoPong: false`: the client does not say that it has read what was sent. The others are options of its connection. */
  constructor(
    url: string,
    headers: Record<string, string> = {},
    { autoPong = true, ...connection }: ClientOptions = {},
  ) {
    this.socket = new WebSocket(url, { headers, autoPong, ...connection });
    this.socket.on("message", (data) => this.#take(textOf(data)));
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    this.socket.on("error", () => undefined);
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  async until(matches: (frame: Frame) => boolean): Promise<Frame> {
    const live = this.#feed.watch();
    const known = this.frames.find(matches);
    if (known !== undefined) return known;
    for await (const frame of live) if (matches(frame)) return frame;
    throw new Error("the feed ended");
  }

  event(name: string): Promise<Frame> {
    return this.until((frame) => frame["event"] === name);
  }

  async request(method: string, params: unknown = {}): Promise<Frame> {
    const id = String(this.#next++);
    this.send({ type: "req", id, method, params });
    const answer = await this.until((frame) => frame["type"] === "res" && frame["id"] === id);
    if (answer["ok"] === true) checkAnswer(method, answer["payload"]);
    return answer;
  }

  /** The payload of an answer. Throws when the request is refused. */
  async ask(method: string, params: unknown = {}): Promise<Frame> {
    const { ok, payload, error } = await this.request(method, params);
    if (ok !== true) throw new Error(`${method} was refused: ${JSON.stringify(error)}`);
    return isFrame(payload) ? payload : {};
  }

  /** Why a request is refused. Throws when it is not. */
  async refusal(method: string, params: unknown = {}): Promise<z.infer<typeof refused>["error"]> {
    return refused.parse(await this.request(method, params)).error;
  }

  async connect(more: Record<string, unknown> = {}): Promise<Frame> {
    await this.event("connect.challenge");
    return this.request("connect", { ...connectParams(), ...more });
  }

  close(): void {
    this.socket.terminate();
  }

  #take(text: string): void {
    const frame: unknown = JSON.parse(text);
    if (!isFrame(frame)) throw new Error("not a frame");
    this.frames.push(frame);
    this.#feed.publish(frame);
  }
}

export const connectParams = (token = TOKEN) => ({
  minProtocol: 4,
  maxProtocol: 4,
  client: { id: "test", version: "1", platform: "linux", mode: "test" },
  role: "operator",
  scopes: ["operator.admin"],
  caps: [],
  auth: { token },
});
