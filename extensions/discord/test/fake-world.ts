import { MAY_NOT_QUOTE, ok, refusal, UNKNOWN_CHANNEL, UNKNOWN_MESSAGE } from "./rest-shapes.ts";
import type { RestCall, RestResult, Speaker } from "./rest-shapes.ts";
import { answerPins, foundIn, isEmpty, NOT_INDEXED, pageOf, react, startThread } from "./message-routes.ts";
import { isJson, objectIn, textIn, type Json } from "./json.ts";

export const ADA = { id: "1001", username: "ada", global_name: "Ada", discriminator: "0", avatar: null };
export const BOT = { id: "1077", username: "beeper", global_name: null, discriminator: "0", avatar: null, bot: true };
const MEMBER = { nick: "Ada of Crew", roles: ["950"], joined_at: "2026-01-01T00:00:00.000Z", deaf: false, mute: false };

/** docs.discord.com/developers/resources/message#message-object-message-flags */
const EPHEMERAL = 1 << 6;
const EPOCH = 1_420_070_400_000;
/** docs.discord.com/developers/interactions/receiving-and-responding: how long a token is good for. */
const INTERACTION_MS = 15 * 60_000;

interface Interaction {
  readonly channel: string;
  readonly until: number;
  /** Type of the first response; 0 once it was removed. */
  response?: number;
  /** Whether only whoever caused it sees the answer. */
  isPrivate?: boolean;
  message?: Json;
}

const tokenOf = (interactionId: string): string => `interaction-${interactionId}`;

/** A guild with a channel, a thread, a forum and a post, and people in it. Shapes: docs.discord.com/developers/resources */
export class FakeWorld {
  url = "";
  readonly self = {
    id: "4200",
    username: "test_bot",
    global_name: null,
    discriminator: "0001",
    avatar: null,
    bot: true,
  };
  readonly applicationId = "4300";
  /** Of the application: may read the text of messages. */
  flags = 1 << 19;
  /** Whether the history has nonces; Discord's documentation leaves that open. */
  tellsNonces = true;
  /** docs.discord.com/developers/events/gateway#session-start-limit-object */
  readonly starts = { total: 1000, remaining: 1000, reset_after: 14_400_000, max_concurrency: 1 };
  /** Read Message History; docs.discord.com/developers/topics/permissions */
  showsHistory = true;
  /** Whether the server can be searched yet. */
  isIndexed = true;
  readonly files = new Map<string, Uint8Array>();
  readonly commands: Json[] = [];
  readonly callbacks: Json[] = [];
  readonly typing: string[] = [];
  readonly guild: Json;
  readonly guilds: Json[];
  /** How many connections the bot needs. */
  shards = 1;
  /** Ids of people whom there are. */
  readonly people = new Set([ADA.id, "1002", "666"]);
  readonly #channels = new Map<string, Json>();
  readonly #messages = new Map<string, Json[]>();
  readonly #nonces = new Map<string, Json>();
  readonly #interactions = new Map<string, Interaction>();
  readonly #given = new Map<string, Json>();
  /** What only whoever caused an interaction sees. */
  readonly whispers: string[] = [];
  /** Milliseconds by which Discord's clock is ahead of its clients' clocks. */
  aheadMs = 0;
  #last = 0n;

  constructor() {
    const channels = [
      { id: "901", type: 0, guild_id: "900", name: "crew", position: 0, last_message_id: null },
      { id: "902", type: 15, guild_id: "900", name: "help", position: 1, last_message_id: null },
    ];
    const threads = [
      { id: "903", type: 11, guild_id: "900", parent_id: "901", name: "a thread", last_message_id: null },
      { id: "904", type: 11, guild_id: "900", parent_id: "902", name: "How do I?", last_message_id: null },
    ];
    for (const channel of [...channels, ...threads]) this.#channels.set(channel.id, channel);
    const own = { user: this.self, nick: null, roles: ["951"], joined_at: "2026-01-01T00:00:00.000Z" };
    const roles = [
      { id: "950", name: "captains" },
      { id: "951", name: "test_bot" },
    ];
    this.guild = { id: "900", name: "Ship", unavailable: false, channels, threads, roles, members: [own] };
    this.guilds = [this.guild];
  }

  /** docs.discord.com/developers/reference#snowflakes */
  nextId(): string {
    const now = BigInt(Date.now() - EPOCH) << 22n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return String(this.#last);
  }

  messages(channel: string): readonly Json[] {
    return this.#messages.get(channel) ?? [];
  }

  find(channel: string, id: string): Json | undefined {
    return this.messages(channel).find((message) => message["id"] === id);
  }

  isOwn(message: Json): boolean {
    return objectIn(message, "author")["id"] === this.self.id;
  }

  isDirect(channel: string): boolean {
    return this.#channels.get(channel)?.["type"] === 1;
  }

  /** The direct channel of a person. */
  direct(person: string): string {
    const id = `8${person}`;
    if (!this.#channels.has(id)) {
      this.#channels.set(id, { id, type: 1, last_message_id: null, recipients: [{ ...ADA, id: person }] });
    }
    return id;
  }

  channel(id: string): Json | undefined {
    return this.#channels.get(id);
  }

  addChannel(channel: Json & { id: string }): void {
    this.#channels.set(channel.id, channel);
  }

  /** Another server with one channel. */
  addGuild(id: string, channel: string): void {
    const facts = { id: channel, type: 0, guild_id: id, name: "far", position: 0, last_message_id: null };
    this.#channels.set(channel, facts);
    this.guilds.push({ ...this.guild, id, name: "Other ship", channels: [facts], threads: [] });
  }

  write(channel: string, text: string, { from = ADA, replyTo, files = [], more = {} }: Speaker): Json {
    const original = replyTo === undefined ? undefined : this.find(channel, replyTo);
    const message: Json = {
      id: this.nextId(),
      type: replyTo === undefined ? 0 : 19,
      channel_id: channel,
      channel_type: this.#channels.get(channel)?.["type"],
      author: from,
      content: text,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      mentions: [...text.matchAll(/<@!?(\d+)>/g)].map(([, id]) => [this.self, ADA, BOT].find((user) => user.id === id)),
      mention_roles: [...text.matchAll(/<@&(\d+)>/g)].map(([, id]) => id),
      attachments: files.map((file) => this.#attach(channel, file)),
      embeds: [],
      pinned: false,
      ...(replyTo !== undefined && {
        message_reference: { type: 0, message_id: replyTo, channel_id: channel },
        referenced_message: original ?? null,
      }),
      ...more,
    };
    this.#messages.set(channel, [...this.messages(channel), message]);
    const place = this.#channels.get(channel);
    if (place) place["last_message_id"] = message["id"];
    return message;
  }

  /** As an event has it. */
  told(message: Json): Json {
    const channel = String(message["channel_id"]);
    const guildId = this.#channels.get(channel)?.["guild_id"] ?? "900";
    return this.isDirect(channel) ? message : { ...message, guild_id: guildId, member: MEMBER };
  }

  /** Somebody presses a button or calls a command of the menu. */
  interaction(channel: string, more: Json): Json {
    const id = this.nextId();
    const token = tokenOf(id);
    this.#interactions.set(token, { channel, until: Date.now() + INTERACTION_MS });
    const place = this.#channels.get(channel);
    const owners = { authorizing_integration_owners: { 0: "900" }, context: this.isDirect(channel) ? 1 : 0 };
    const around = { locale: "en-US", app_permissions: "442368", entitlements: [], ...owners };
    const who = this.isDirect(channel) ? { user: ADA } : { guild_id: "900", member: { ...MEMBER, user: ADA } };
    const interaction = {
      id,
      application_id: this.applicationId,
      token,
      version: 1,
      ...around,
      channel_id: channel,
      channel: place,
      ...who,
      ...more,
    };
    this.#given.set(String(interaction.id), interaction);
    return interaction;
  }

  /** The event of an interaction. */
  given(interactionId: string): Json {
    return this.#given.get(interactionId) ?? {};
  }

  rest(call: RestCall): RestResult {
    const parts = call.path.split("/").slice(1);
    switch (parts[0]) {
      case "users":
        return parts[2] === "channels" ? this.#open(call) : ok(this.self);
      case "applications":
        return this.#application(call, parts);
      case "gateway":
        return ok({
          url: this.url.replace("http", "ws"),
          shards: this.shards,
          session_start_limit: this.starts,
        });
      case "channels":
        return this.#inChannel(call, parts);
      case "guilds":
        return this.#inGuild(call, parts);
      case "interactions":
        return this.#callBack(call.body, String(parts[2]));
      case "webhooks":
        return this.#fill(call, String(parts[2]), parts[3] === "messages");
      default:
        return refusal(404, 0, "404: Not Found");
    }
  }

  #open({ body }: RestCall): RestResult {
    const person = String(body["recipient_id"]);
    if (!this.people.has(person)) return refusal(400, 50_033, "Invalid Recipient(s)");
    if (person === "666") return refusal(403, 50_007, "Cannot send messages to this user");
    return ok(this.channel(this.direct(person)));
  }

  #application({ method, body }: RestCall, parts: readonly string[]): RestResult {
    if (parts[2] !== "commands") return ok({ id: this.applicationId, name: "Test", flags: this.flags });
    if (method === "PUT" && Array.isArray(body)) this.commands.splice(0, this.commands.length, ...body.filter(isJson));
    return ok(this.commands);
  }

  #inGuild({ query }: RestCall, [, , what, id]: readonly string[]): RestResult {
    if (what === "messages") return this.isIndexed ? foundIn(this, query) : { status: 202, json: NOT_INDEXED };
    if (what === "members") return ok(this.#member(String(id)));
    if (what === "emojis") return ok([{ id: "70", name: "wave" }]);
    if (what !== "threads") return ok(this.guild);
    const threads = [...this.#channels.values()].filter(({ type }) => type === 11);
    return ok({ threads, members: [] });
  }

  #member(id: string): Json {
    if (id === this.self.id) return { user: this.self, nick: null, roles: ["951"] };
    return { ...MEMBER, user: { ...ADA, id } };
  }

  #inChannel(call: RestCall, [, channel = "", what, id, deeper, emoji]: readonly string[]): RestResult {
    const place = this.channel(channel);
    if (!place) return UNKNOWN_CHANNEL;
    if (what === undefined) return ok(call.method === "PATCH" ? Object.assign(place, call.body) : place);
    if (what === "threads") return startThread(this, channel, { body: call.body });
    if (what === "typing") {
      this.typing.push(channel);
      return { status: 204 };
    }
    return this.#atMessage(channel, call, [id, deeper, emoji]);
  }

  #atMessage(channel: string, call: RestCall, [id, deeper, emoji]: readonly (string | undefined)[]): RestResult {
    if (id === "pins") return answerPins(this, channel, { id: deeper, method: call.method });
    if (id === undefined)
      return call.method === "GET" ? pageOf(this, channel, call.query) : this.#create(channel, call);
    const message = this.find(channel, id);
    if (!message) return UNKNOWN_MESSAGE;
    if (deeper === "threads")
      return startThread(this, channel, { body: call.body, ...(id !== undefined && { message: id }) });
    if (deeper === "reactions") return react(message, decodeURIComponent(emoji ?? ""), call.method);
    return this.#change(channel, message, call);
  }

  #create(channel: string, { body, files }: RestCall): RestResult {
    const content = textIn(body, "content");
    const nonce = textIn(body, "nonce");
    if (content.length > 2000 || nonce.length > 25) return refusal(400, 50_035, "Invalid Form Body");
    if (isEmpty({ body, files })) return refusal(400, 50_006, "Cannot send an empty message");
    if (body["message_reference"] !== undefined && !this.showsHistory) return MAY_NOT_QUOTE;
    const key = `${channel}/${nonce}`;
    const same = body["enforce_nonce"] === true ? this.#nonces.get(key) : undefined;
    if (same) return ok(same);
    const replyTo = textIn(objectIn(body, "message_reference"), "message_id");
    const more = { nonce, components: body["components"] ?? [], flags: body["flags"] ?? 0 };
    const known = this.find(channel, replyTo) ? { replyTo } : {};
    const message = this.write(channel, content, { from: this.self, files, more, ...known });
    this.#nonces.set(key, message);
    return { status: 200, json: message, events: [{ name: "MESSAGE_CREATE", data: this.told(message) }] };
  }

  #change(channel: string, message: Json, { method, body }: RestCall): RestResult {
    if (method === "GET") return ok(message);
    if (method === "DELETE") {
      this.#messages.set(
        channel,
        this.messages(channel).filter((other) => other !== message),
      );
      return { status: 204 };
    }
    if (!this.isOwn(message)) return refusal(403, 50_005, "Cannot edit a message authored by another user");
    Object.assign(message, body, { edited_timestamp: new Date().toISOString() });
    return ok(message);
  }

  /** What people see below a command of the menu: `…` while it waits, its answer, or nothing. */
  below(interactionId: string): string | undefined {
    const interaction = this.#interactions.get(tokenOf(interactionId));
    if (interaction?.message) return textIn(interaction.message, "content");
    return interaction?.response === 5 ? "…" : undefined;
  }

  /** The first response. docs.discord.com/developers/interactions/receiving-and-responding */
  #callBack(body: Json, token: string): RestResult {
    const interaction = this.#interactions.get(token);
    if (!interaction) return refusal(404, 10_062, "Unknown interaction");
    if (interaction.response !== undefined) return refusal(400, 40_060, "Interaction has already been acknowledged.");
    interaction.response = Number(body["type"]);
    interaction.isPrivate = (Number(objectIn(body, "data")["flags"]) & EPHEMERAL) !== 0;
    this.callbacks.push(body);
    if (interaction.response === 4) this.whispers.push(textIn(objectIn(body, "data"), "content"));
    return { status: 204 };
  }

  /** The answer to a command, and further messages. docs.discord.com/developers/interactions/receiving-and-responding */
  #fill({ method, body, files }: RestCall, token: string, isFirst: boolean): RestResult {
    const interaction = this.#interactions.get(token);
    if (interaction?.response === undefined) return refusal(404, 10_015, "Unknown Webhook");
    if (interaction.until < Date.now() + this.aheadMs) return refusal(401, 50_027, "Invalid Webhook Token");
    if (!isFirst && (Number(body["flags"]) & EPHEMERAL) === 0)
      return refusal(400, 50_035, "the test expects it private");
    if (!isFirst) {
      this.whispers.push(textIn(body, "content"));
      return ok({ id: this.nextId(), type: 0 });
    }
    if (method === "DELETE") {
      interaction.response = 0;
      return { status: 204 };
    }
    if (interaction.message) Object.assign(interaction.message, body);
    interaction.message ??= interaction.isPrivate
      ? { ...body, id: this.nextId(), type: 20, author: this.self }
      : this.write(interaction.channel, textIn(body, "content"), { from: this.self, files });
    return ok(interaction.message);
  }

  #attach(channel: string, file: NonNullable<Speaker["files"]>[number]): Json {
    const id = this.nextId();
    const path = `/attachments/${channel}/${id}/${file.name}`;
    this.files.set(path, file.bytes);
    const mime = "mime" in file ? { content_type: file.mime } : {};
    return {
      id,
      filename: file.name,
      size: file.bytes.length,
      url: this.url + path,
      proxy_url: this.url + path,
      ...mime,
    };
  }
}
