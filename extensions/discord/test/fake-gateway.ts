import type { WebSocket } from "ws";
import type { FakeWorld } from "./fake-world.ts";
import { isJson, objectIn, readJson, type Json } from "./json.ts";

interface Session {
  readonly id: string;
  readonly shard: readonly [id: number, count: number];
  /** What was dispatched, at `sequence - 1`. */
  readonly events: { t: string; s: number; d: unknown }[];
  socket: WebSocket | undefined;
}

/** Guilds, GuildMessages and MessageContent. */
const NEEDED = (1 << 0) | (1 << 9) | (1 << 15);

/** The gateway: docs.discord.com/developers/events/gateway and /developers/events/gateway-events. */
export class FakeGateway {
  /** Between heartbeats. */
  heartbeatMs = 41_250;
  /** When true, heartbeats are not answered. */
  isDeaf = false;
  /** When true, RESUME gets no answer. */
  isSilent = false;
  /** Close code for the next IDENTIFY. */
  closeWith: number | undefined;
  /** Frames of clients, oldest first. */
  readonly said: Json[] = [];
  readonly #world: FakeWorld;
  readonly #token: string;
  readonly #sessions = new Map<string, Session>();
  readonly #clients = new Set<WebSocket>();
  #refusals = 0;

  constructor(world: FakeWorld, token: string) {
    this.#world = world;
    this.#token = token;
  }

  /** Sends an event to the sessions of its shard: at once, or when they are resumed. */
  dispatch(name: string, data: unknown): void {
    for (const session of this.#sessions.values()) {
      if (isFor(session, data)) this.#tell(session, name, data);
    }
  }

  get sessionIds(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#clients.size;
  }

  /** Sends a frame as it is, whatever it says. */
  say(frame: string): void {
    for (const client of this.#clients) client.send(frame);
  }

  /** Ends all connections with a close code. */
  close(code: number): void {
    for (const client of this.#clients) client.close(code, "closed by the fake");
  }

  /** Breaks all connections, and refuses so many new ones. */
  drop(refusals = 0): void {
    this.#refusals = refusals;
    for (const client of this.#clients) client.terminate();
  }

  /** Breaks the oldest connection. */
  dropOne(): void {
    const [client] = this.#clients;
    client?.terminate();
  }

  /** Discord forgets what sessions there were. */
  forget(): void {
    this.#sessions.clear();
  }

  /** Discord asks all clients to connect again. */
  rotate(): void {
    for (const client of this.#clients) client.send(JSON.stringify({ op: 7, d: null }));
  }

  /** Events that a session would get again if its client said that it stopped at `sequence`. */
  after(sequence: number): number {
    const [session] = this.#sessions.values();
    return session ? session.events.length - sequence : 0;
  }

  /** Whether any session has an open connection now. */
  get isHeard(): boolean {
    return [...this.#sessions.values()].some(({ socket }) => socket !== undefined && socket.readyState === socket.OPEN);
  }

  refuses(): boolean {
    if (this.#refusals === 0) return false;
    this.#refusals--;
    return true;
  }

  greet(client: WebSocket): void {
    this.#clients.add(client);
    client.on("close", (code) => {
      this.#clients.delete(client);
      // 1000 and 1001 end a session.
      for (const session of this.#sessions.values()) {
        if (session.socket !== client) continue;
        session.socket = undefined;
        if (code === 1000 || code === 1001) this.#sessions.delete(session.id);
      }
    });
    client.on("message", (data) => this.#hear(client, readJson(String(data as Buffer))));
    client.send(JSON.stringify({ op: 10, d: { heartbeat_interval: this.heartbeatMs } }));
  }

  #hear(client: WebSocket, said: Json): void {
    this.said.push(said);
    const d = objectIn(said, "d");
    if (said["op"] === 1 && !this.isDeaf) client.send(JSON.stringify({ op: 11 }));
    if (said["op"] === 2) this.#identify(client, d);
    if (said["op"] === 6 && !this.isSilent) this.#resume(client, d);
  }

  #identify(client: WebSocket, d: Json): void {
    const code = this.closeWith ?? (d["token"] === this.#token ? undefined : 4004);
    this.closeWith = undefined;
    if (code !== undefined) return client.close(code, "no");
    if ((Number(d["intents"]) & NEEDED) !== NEEDED) return client.close(4013, "Invalid intent(s).");
    // The token is reset then, docs.discord.com/developers/events/gateway#identifying.
    if (this.#world.starts.remaining === 0) return client.close(4004, "Authentication failed.");
    const shard = shardOf(d["shard"]);
    if (shard[1] < this.#world.shards) return client.close(4011, "Sharding required.");
    this.#world.starts.remaining--;
    const session: Session = { id: this.#world.nextId(), shard, events: [], socket: client };
    this.#sessions.set(session.id, session);
    const url = this.#world.url.replace("http", "ws");
    const guilds = this.#world.guilds.filter((guild) => isFor(session, { guild_id: guild["id"] }));
    this.#tell(session, "READY", {
      v: 10,
      user: this.#world.self,
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: url,
      application: { id: this.#world.applicationId, flags: 1 << 19 },
    });
    for (const guild of guilds) this.#tell(session, "GUILD_CREATE", guild);
  }

  #resume(client: WebSocket, d: Json): void {
    const session = this.#sessions.get(String(d["session_id"]));
    if (!session || d["token"] !== this.#token) return client.send(JSON.stringify({ op: 9, d: false }));
    session.socket = client;
    for (const event of session.events.slice(Number(d["seq"]))) client.send(JSON.stringify({ op: 0, ...event }));
    this.#tell(session, "RESUMED", {});
  }

  #tell(session: Session, t: string, d: unknown): void {
    const event = { t, s: session.events.length + 1, d };
    session.events.push(event);
    session.socket?.send(JSON.stringify({ op: 0, ...event }));
  }
}

const shardOf = (value: unknown): readonly [number, number] =>
  Array.isArray(value) ? [Number(value[0]), Number(value[1])] : [0, 1];

/** Direct chats are the first shard's; docs.discord.com/developers/events/gateway#sharding */
function isFor({ shard: [id, count] }: Session, data: unknown): boolean {
  const guild = isJson(data) ? data["guild_id"] : undefined;
  return typeof guild === "string" && /^\d+$/.test(guild)
    ? Number((BigInt(guild) >> 22n) % BigInt(count)) === id
    : id === 0;
}
