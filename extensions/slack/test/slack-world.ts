import type { WebSocket } from "ws";

/**
 * `lost`: done, but the connection drops before the answer; `page`, `cut`, `204`: done, but the answer is another one. Anything else is an
 * error word of the Web API.
 */
/** `silence`: a call that gets no answer. */
export type FakeFault = "silence" | "429" | "500" | "drop" | "lost" | "page" | "cut" | "204" | (string & {});

export interface FakeCall {
  readonly method: string;
  readonly body: Readonly<Record<string, string>>;
  readonly ok: boolean;
}

export interface FakeEnvelope {
  readonly envelope_id: string;
  readonly type: "events_api" | "slash_commands" | "interactive";
  readonly payload: unknown;
  readonly retry_attempt?: number;
}

export interface FakeMessage {
  readonly channel: string;
  readonly ts: string;
  text: string;
  readonly user: string;
  readonly bot_id?: string;
  readonly thread_ts?: string;
  metadata?: unknown;
  /** Shown as being written: chat.startStream. */
  isOpen?: boolean;
  pinned?: boolean;
  readonly files?: readonly Record<string, unknown>[];
  blocks: readonly unknown[];
  edited?: { readonly user: string; readonly ts: string };
  readonly reactions: Map<string, Set<string>>;
  readonly more: Readonly<Record<string, unknown>>;
}

export const ADA = "U1001";
export const SELF = { userId: "UBOT", botId: "BBOT", teamId: "T1", name: "test_bot" };
const SCOPES =
  "chat:write,app_mentions:read,im:history,channels:history,groups:history,mpim:history,channels:read,groups:read," +
  "im:read,mpim:read,im:write,users:read,files:read,files:write,reactions:read,reactions:write";

/** The first message of a thread in C9. */
export const TOPIC = "1700000000.000100";
/** A public channel and the direct chat of two people, in neither of which the bot is. */
export const OPEN = "C7";
export const FOREIGN = "D7";
/** docs.slack.dev/interactivity/handling-user-interaction#message_responses: answers that a response_url takes. */
const RESPONSES = 5;

/** What the Web API refuses, with its error word. */
export class Refusal extends Error {}

/** What a Slack holds: messages, files, envelopes, sockets. It knows nothing of HTTP. */
export class Slack {
  readonly messages: FakeMessage[] = [];
  readonly calls: FakeCall[] = [];
  readonly pending: FakeEnvelope[] = [];
  readonly files = new Map<string, { bytes: Uint8Array; about: Record<string, unknown> }>();
  /** What was said to the response_url of each command. */
  readonly responses = new Map<string, unknown[]>();
  readonly faults = new Map<string, { how: FakeFault; count: number }>();
  readonly sockets = new Set<WebSocket>();
  greetings = 0;
  last: FakeEnvelope | undefined;
  refusals = 0;
  port = 0;
  entrance: number | undefined;
  hides = 0;
  page = 1000;
  unshown = 0;
  tells: "both" | "mentions first" | "mentions alone" = "both";
  scopes = SCOPES;
  #count = 0;

  readonly botToken = "xoxb-1-fake";
  readonly appToken = "xapp-1-fake";

  next = (): number => (this.#count += 1);
  ts = (): string => `${Math.floor(Date.now() / 1000)}.${String(this.next()).padStart(6, "0")}`;

  add(message: Partial<FakeMessage> & { channel: string; user: string; text: string }): FakeMessage {
    const made: FakeMessage = { ts: this.ts(), blocks: [], reactions: new Map(), more: {}, ...message };
    this.messages.push(made);
    return made;
  }

  find(channel: string | undefined, ts: string | undefined): FakeMessage {
    const message = this.messages.find((each) => each.channel === channel && each.ts === ts);
    if (!message) throw new Refusal("message_not_found");
    return message;
  }

  findOwn(channel: string | undefined, ts: string | undefined, otherwise: string): FakeMessage {
    const message = this.find(channel, ts);
    if (message.user !== SELF.userId) throw new Refusal(otherwise);
    return message;
  }

  /** A message as events and histories show it. */
  shape(message: FakeMessage, metadata = false): Record<string, unknown> {
    const { channel: _in, reactions, more, files, metadata: kept, isOpen: _open, ...plain } = message;
    const replies = this.messages.filter((each) => each.channel === message.channel && each.thread_ts === message.ts);
    return {
      type: "message",
      ...plain,
      ...(files && { files }),
      ...(metadata && kept !== undefined && { metadata: kept }),
      ...(replies.length > 0 && {
        thread_ts: message.ts,
        reply_count: replies.length,
        latest_reply: replies.at(-1)?.ts,
      }),
      reactions: [...reactions].map(([name, users]) => ({ name, users: [...users], count: users.size })),
      team: SELF.teamId,
      ...more,
    };
  }

  announce(message: FakeMessage): void {
    const kinds: Record<string, string> = { D: "im", G: "mpim" };
    const channel_type = kinds[message.channel.slice(0, 1)] ?? "channel";
    const { reactions: _none, ...shape } = this.shape(message);
    const parent = this.messages.find((each) => each.ts === message.thread_ts && each.channel === message.channel);
    const inThread = parent && parent !== message ? { parent_user_id: parent.user } : {};
    const event = { ...shape, ...inThread, channel: message.channel, channel_type, event_ts: message.ts };
    const isMention = channel_type !== "im" && message.text.includes(`<@${SELF.userId}>`);
    const { channel_type: _type, subtype: _subtype, ...mention } = event as Record<string, unknown>;
    if (this.tells === "both") this.event(event);
    if (isMention) this.event({ ...this.#bare(mention), type: "app_mention" });
    if (this.tells === "mentions first") this.event(event);
  }

  /** docs.slack.dev/reference/events/app_mention promises no files; one that comes first is seen without them. */
  #bare({ files, ...mention }: Record<string, unknown>): Record<string, unknown> {
    return this.tells === "both" && files !== undefined ? { ...mention, files } : mention;
  }

  /** Somebody gives a slash command; gives back where it can be answered. docs.slack.dev/interactivity/implementing-slash-commands */
  command(channel: string, text: string): string {
    const url = this.responseAddress();
    const who = { team_id: SELF.teamId, channel_id: channel, user_id: ADA, trigger_id: `${this.next()}.1` };
    this.deliver("slash_commands", { token: "x", command: "/openclaw", text, ...who, response_url: url });
    return url;
  }

  responseAddress(): string {
    const id = `${this.next()}-secret`;
    this.responses.set(id, []);
    return `http://127.0.0.1:${this.port}/commands/${id}`;
  }

  /** False when the address is not known, or was used up. */
  respond(id: string, body: unknown): boolean {
    const said = this.responses.get(id);
    if (!said || said.length >= RESPONSES) return false;
    said.push(body);
    return true;
  }

  event(event: Record<string, unknown>): void {
    this.deliver("events_api", {
      token: "x",
      team_id: SELF.teamId,
      api_app_id: "A1",
      event,
      type: "event_callback",
      event_id: `Ev${this.next()}`,
      event_time: Math.floor(Date.now() / 1000),
    });
  }

  deliver(type: FakeEnvelope["type"], payload: unknown): void {
    const envelope = { envelope_id: `e${this.next()}`, type, payload, accepts_response_payload: type !== "events_api" };
    this.pending.push(envelope);
    this.last = envelope;
    this.push(envelope);
  }

  push(envelope: FakeEnvelope): void {
    // Slack picks one of the app's sockets; the newest is the hardest case for an app that is changing over.
    const socket = [...this.sockets].findLast((each) => each.readyState === each.OPEN);
    socket?.send(JSON.stringify(envelope));
  }

  greet(socket: WebSocket): void {
    this.sockets.add(socket);
    this.greetings += 1;
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("message", (data) => {
      const text = String(data as Buffer);
      // A port is given again: the client of another test's server may still call here.
      if (!text.startsWith("{")) return socket.terminate();
      const { envelope_id: id } = JSON.parse(text) as { envelope_id: string };
      const at = this.pending.findIndex((envelope) => envelope.envelope_id === id);
      if (at >= 0) this.pending.splice(at, 1);
    });
    socket.send(
      JSON.stringify({ type: "hello", num_connections: this.sockets.size, connection_info: { app_id: "A1" } }),
    );
    for (const envelope of this.pending) socket.send(JSON.stringify({ ...envelope, retry_attempt: 1 }));
  }
}
