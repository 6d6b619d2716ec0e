import http from "node:http";
import type { AddressInfo } from "node:net";
import { checkHtml } from "./telegram-html.ts";

/** One call of the Bot API as a client made it; `text` is the text or caption. */
export interface TelegramCall {
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly chatId: string;
  readonly text: string;
  /** Message id that it made or changed. */
  readonly messageId: number | undefined;
  readonly ok: boolean;
  readonly at: number;
}

export interface FakeTelegram {
  readonly url: string;
  readonly token: string;
  readonly self: { readonly id: number; readonly username: string };
  /** Offers an update to the next poll; gives back its id. */
  inject(update: Record<string, unknown>): number;
  /** A text message; a private chat with the sender when no chat is given. Gives back the message id. */
  say(text: string, from?: Speaker): number;
  /** Calls but polls and `getMe`, oldest first. */
  readonly sent: readonly TelegramCall[];
  /** The first call, made or to come, that fits. Rejects after `timeoutMs` (30 s). */
  waitFor(fits: (call: TelegramCall) => boolean, timeoutMs?: number): Promise<TelegramCall>;
  /** The next `count` calls of a method (`*`: any but polls) fail. `lost`: done, but the connection drops before the answer. */
  /** `file` is the download of a file. */
  fail(method: string, mode: Fault, count?: number, retryAfter?: number): void;
  /** Update ids that no poll has acknowledged yet. */
  readonly pending: readonly number[];
  /** Polls begun, and the offset of the last one. */
  readonly polls: { readonly count: number; readonly offset: number; readonly open: number };
  /** Text of a message as people see it now; undefined when there is none. */
  shown(chatId: number | string): readonly string[];
  /** What a person sees being written: gone after 30 seconds, and with any message of the bot. */
  draft(chatId: number | string): string | undefined;
  /** Whether drafts are taken; `unknown` as by a server before Bot API 9.3, `refused` as by one before 9.5. */
  drafts: "taken" | "unknown" | "refused";
  file(id: string, bytes: Uint8Array, path?: string): void;
  /** The menu of commands, and how often it was set. */
  /** Public names of groups and channels, such as `@news`, and their ids. */
  readonly publicNames: Map<string, number>;
  readonly menu: { readonly commands: readonly unknown[]; readonly times: number };
  /** UTF-16 units that a menu may have. */
  mostInMenu: number;
  /** The webhook that is set: #setwebhook. Updates are posted by `deliver` alone. */
  readonly webhook: { readonly url: string; readonly secret: string } | undefined;
  /** Posts what is pending, oldest first, as the service does; gives up at the first answer that is no 2xx. */
  deliver(post: (body: string, headers: Record<string, string>) => Promise<number>): Promise<void>;
  /** From now on calls to this group are refused with its new id: #responseparameters. */
  migrate(from: number, to: number): void;
  /** Leaves out so many ids of updates and messages, which an earlier fake has used. */
  skipIds(count: number): void;
  /** A forum topic is deleted. */
  closeTopic(id: number): void;
  /** Hears of every call, polls too: when it has come in, and when it has had its effect, before it is answered. */
  tap(listener: (moment: TelegramMoment) => void): void;
  /** Takes back the faults that have not struck yet. */
  heal(): void;
  /** Drops every connection and refuses new ones. */
  goDown(): Promise<void>;
  /** Answers again, under the same address. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export interface TelegramMoment {
  readonly method: string;
  readonly text: string;
  readonly stage: "arrived" | "done";
}

/** `drop`: the connection drops before anything is done; `lost`: after. `hang`: nothing is done, `stuck`: all is done, and no answer comes. */
export type Fault =
  | "429"
  | "500"
  | "400"
  | "403"
  /** An error of which nothing is said but its code. */
  | "bare"
  | "401"
  | "409"
  | "webhook"
  | "photo"
  | "drop"
  | "lost"
  | "hang"
  | "stuck";

export interface Speaker {
  readonly from?: { readonly id: number; readonly username?: string; readonly first_name?: string };
  readonly chat?: { readonly id: number; readonly type: string; readonly title?: string; readonly is_forum?: boolean };
  readonly more?: Record<string, unknown>;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}
class Refusal extends Error {
  readonly code: number;
  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}
const ok = (result: unknown): Answer => ({ status: 200, body: { ok: true, result } });
const refuse = (code: number, description: string, parameters?: Record<string, unknown>): Answer => ({
  status: code,
  body: { ok: false, error_code: code, description, ...(parameters && { parameters }) },
});

const TOKEN = "4200:fake-token-of-the-test-bot";
const SELF = { id: 4200, is_bot: true, first_name: "Test Bot", username: "test_bot" };
const CONTENT: Readonly<Record<string, string>> = {
  sendMessage: "text",
  sendPhoto: "photo",
  sendDocument: "document",
  sendVoice: "voice",
  sendAudio: "audio",
  sendVideo: "video",
  sendAnimation: "animation",
  sendSticker: "sticker",
  sendPoll: "question",
};
const METHODS_OF: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CONTENT).map(([method, field]) => [field, method]),
);
/** Calls about the bot itself, not about a chat: neither `sent` nor taps tell of them, and `*` faults leave them alone. */
const QUIET = new Set(["getMe", "setMyCommands", "deleteMyCommands", "getWebhookInfo", "setWebhook"]);
/** core.telegram.org/bots/api#getupdates: what a bot hears that names no kinds. */
const UNASKED = new Set(["chat_member", "message_reaction", "message_reaction_count"]);

/**
 * A Bot API server on loopback, strict about parameters. Methods, fields and error texts as in
 * https://core.telegram.org/bots/api; an error text that is not documented there is as the service words it.
 */
export async function startFakeTelegram(): Promise<FakeTelegram> {
  const fake = new Fake();
  await fake.listen();
  return fake;
}

class Fake implements FakeTelegram {
  readonly token = TOKEN;
  readonly self = SELF;
  readonly sent: TelegramCall[] = [];
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  readonly #messages = new Map<string, { chat: string; text: string; extra: string; isFile: boolean }>();
  readonly #drafts = new Map<string, { text: string; until: number }>();
  drafts: "taken" | "unknown" | "refused" = "taken";
  readonly #files = new Map<string, { bytes: Uint8Array; path: string }>();
  readonly #moved = new Map<string, number>();
  readonly #goneTopics = new Set<number>();
  #allowed: ReadonlySet<string> | undefined;
  #webhookError: { last_error_date: number; last_error_message: string } | undefined;
  webhook: { url: string; secret: string } | undefined;
  readonly publicNames = new Map<string, number>();
  menu: { commands: readonly unknown[]; times: number } = { commands: [], times: 0 };
  mostInMenu = Number.POSITIVE_INFINITY;
  readonly #watchers = new Set<() => void>();
  #faults: { method: string; mode: Fault; count: number; retryAfter: number }[] = [];
  #updates: { update_id: number }[] = [];
  #pollers = new Set<(instead?: Answer) => void>();
  #nextUpdate = 700_000_001;
  #nextMessage = 1;
  #polls = 0;
  #offset = 0;
  #port = 0;
  #listener: (moment: TelegramMoment) => void = () => undefined;

  async listen(): Promise<void> {
    // A connection that was left alone is not closed under the call that comes next.
    this.#server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  tap(listener: (moment: TelegramMoment) => void): void {
    this.#listener = listener;
  }

  heal(): void {
    this.#faults = [];
  }

  goDown(): Promise<void> {
    return this.close();
  }

  comeBack(): Promise<void> {
    return this.listen();
  }

  get pending(): readonly number[] {
    return this.#updates.map((update) => update.update_id);
  }

  get polls(): { count: number; offset: number; open: number } {
    return { count: this.#polls, offset: this.#offset, open: this.#pollers.size };
  }

  inject(update: Record<string, unknown>): number {
    const id = this.#nextUpdate++;
    this.#updates.push({ update_id: id, ...update });
    setImmediate(() => [...this.#pollers].forEach((answer) => answer()));
    return id;
  }

  say(text: string, speaker: Speaker = {}): number {
    const from = { is_bot: false, first_name: "Ada", language_code: "en", id: 1001, ...speaker.from };
    const chat = speaker.chat ?? { id: from.id, type: "private", first_name: from.first_name };
    const message_id = this.#nextMessage++;
    const date = Math.floor(Date.now() / 1000);
    const entities = entitiesOf(text);
    this.inject({
      message: { message_id, from, chat, date, text, ...(entities.length > 0 && { entities }), ...speaker.more },
    });
    return message_id;
  }

  async waitFor(fits: (call: TelegramCall) => boolean, timeoutMs = 30_000): Promise<TelegramCall> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const call = this.sent.find(fits);
        if (!call) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve(call);
      };
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(new Error(`no such call; seen: ${this.sent.map((call) => `${call.method} ${call.text}`).join(" | ")}`));
      }, timeoutMs);
      this.#watchers.add(look);
      look();
    });
  }

  fail(method: string, mode: Fault, count = 1, retryAfter = 1): void {
    this.#faults.push({ method, mode, count, retryAfter });
  }

  shown(chatId: number | string): readonly string[] {
    return [...this.#messages.values()].filter((message) => message.chat === String(chatId)).map((it) => it.text);
  }

  draft(chatId: number | string): string | undefined {
    const draft = this.#drafts.get(String(chatId));
    return draft && draft.until > Date.now() ? draft.text : undefined;
  }

  file(id: string, bytes: Uint8Array, path = `files/${id}`): void {
    this.#files.set(id, { bytes, path });
  }

  migrate(from: number, to: number): void {
    this.#moved.set(String(from), to);
  }

  skipIds(count: number): void {
    this.#nextUpdate += count;
    this.#nextMessage += count;
  }

  closeTopic(id: number): void {
    this.#goneTopics.add(id);
  }

  async deliver(post: (body: string, headers: Record<string, string>) => Promise<number>): Promise<void> {
    const updates = this.#updates;
    for (const update of updates) {
      const headers = {
        "content-type": "application/json",
        "x-telegram-bot-api-secret-token": this.webhook?.secret ?? "",
      };
      const status = await post(JSON.stringify(update), headers);
      if (status < 200 || status > 299) {
        const last_error_message = `Wrong response from the webhook: ${status}`;
        this.#webhookError = { last_error_date: Math.floor(Date.now() / 1000) + 1, last_error_message };
        return;
      }
      this.#updates = this.#updates.filter((it) => it !== update);
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const raw = await bytesOf(request);
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(path);
    if (file) return this.#giveFile(file[1] ?? "", file[2] ?? "", response);
    const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    const reply = (answer: Answer): void => {
      if (response.destroyed) return;
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
    };
    if (token !== TOKEN) return reply(refuse(401, "Unauthorized"));
    const body = parse(request.headers["content-type"] ?? "", raw);
    if (!QUIET.has(method)) this.#listener({ method, text: textOf(body["text"]), stage: "arrived" });
    const cut = (): void => void request.socket.destroy();
    const fault = this.#takeFault(method);
    if (fault) return this.#spoil(fault, { method, body, reply, cut });
    if (method === "getUpdates") return this.#poll(body, response, reply);
    this.#note(method, body, this.#run(method, body), reply);
  }

  #spoil(
    fault: { mode: Fault; retryAfter: number },
    call: { method: string; body: Record<string, unknown>; reply: (answer: Answer) => void; cut: () => void },
  ): void {
    const { method, body, reply, cut } = call;
    if (fault.mode === "hang") return;
    if (fault.mode === "drop") return cut();
    if (fault.mode === "lost") return this.#note(method, body, this.#run(method, body), cut);
    if (fault.mode === "stuck") return this.#note(method, body, this.#run(method, body), () => undefined);
    this.#note(method, body, faultAnswer(fault), reply);
  }

  #takeFault(method: string): { mode: Fault; retryAfter: number } | undefined {
    const fault = this.#faults.find(
      (it) =>
        it.count > 0 &&
        (it.method === method ||
          (it.method === "*" && method !== "getUpdates" && (method === "getMe" || !QUIET.has(method)))),
    );
    if (fault) fault.count--;
    return fault;
  }

  #note(method: string, body: Record<string, unknown>, answer: Answer, reply: (answer: Answer) => void): void {
    const result = answer.body["result"];
    const first: unknown = Array.isArray(result) ? result[0] : result;
    const made = typeof first === "object" && first !== null ? Reflect.get(first, "message_id") : undefined;
    const messageId: unknown = made ?? body["message_id"];
    if (method !== "getUpdates" && !QUIET.has(method)) {
      this.sent.push({
        method,
        body,
        chatId: textOf(body["chat_id"]),
        text: textOf(body["text"] ?? body["caption"] ?? groupOf(body)[0]?.["caption"]),
        messageId: messageId === undefined ? undefined : Number(messageId),
        ok: answer.status === 200,
        at: Date.now(),
      });
    }
    if (!QUIET.has(method)) this.#listener({ method, text: textOf(body["text"]), stage: "done" });
    reply(answer);
    [...this.#watchers].forEach((look) => look());
  }

  #poll(body: Record<string, unknown>, response: http.ServerResponse, reply: (answer: Answer) => void): void {
    this.#polls++;
    const offset = Number(body["offset"] ?? 0);
    const limit = Number(body["limit"] ?? 100);
    const timeout = Number(body["timeout"] ?? 0);
    if (this.webhook) return reply(faultAnswer({ mode: "webhook", retryAfter: 0 }));
    this.#allow(body["allowed_updates"]);
    if (limit < 1 || limit > 100) return reply(refuse(400, "Bad Request: wrong limit"));
    // The older of two polls is the one that ends.
    for (const end of this.#pollers) end(faultAnswer({ mode: "409", retryAfter: 0 }));
    if (offset > 0) {
      this.#updates = this.#updates.filter((update) => update.update_id >= offset);
      this.#offset = offset;
    }
    const answer = (instead?: Answer): void => {
      clearTimeout(timer);
      this.#allow(undefined);
      this.#pollers.delete(answer);
      reply(instead ?? ok(this.#updates.slice(0, limit)));
    };
    const timer = setTimeout(answer, timeout * 1000);
    if (this.#updates.length > 0 || timeout === 0) return answer();
    this.#pollers.add(answer);
    response.on("close", () => {
      clearTimeout(timer);
      this.#pollers.delete(answer);
    });
  }

  #run(method: string, body: Record<string, unknown>): Answer {
    try {
      return this.#call(method, body);
    } catch (error) {
      if (error instanceof Refusal) return refuse(error.code, error.message);
      throw error;
    }
  }

  #call(method: string, body: Record<string, unknown>): Answer {
    if (CONTENT[method] !== undefined) return this.#send(method, body);
    return this.#methods[method]?.(body) ?? refuse(404, "Not Found: method not found");
  }

  readonly #methods: Readonly<Record<string, (body: Record<string, unknown>) => Answer>> = {
    getMe: () =>
      ok({ ...SELF, can_join_groups: true, can_read_all_group_messages: true, supports_inline_queries: false }),
    getWebhookInfo: () =>
      ok({
        url: this.webhook?.url ?? "",
        has_custom_certificate: false,
        pending_update_count: this.#updates.length,
        ...this.#webhookError,
      }),
    setWebhook: (body) => this.#setWebhook(body),
    sendMediaGroup: (body) => this.#sendGroup(body),
    sendMessageDraft: (body) => this.#draft(body),
    editMessageText: (body) => this.#edit(body, "text"),
    editMessageCaption: (body) => this.#edit(body, "caption"),
    deleteMessage: (body) => this.#delete(body),
    getFile: (body) => this.#fileFacts(needText(body, "file_id")),
    getChat: (body) => this.#chat(needText(body, "chat_id")),
    sendChatAction: (body) => ok(chatOf(body) !== "" && needText(body, "action") !== ""),
    setMessageReaction: (body) => {
      if (!Array.isArray(body["reaction"])) throw new Refusal(400, "Bad Request: reaction must be an array");
      return ok(this.#messageKey(body) !== "");
    },
    pinChatMessage: (body) => this.#pin(body, true),
    unpinChatMessage: (body) => this.#pin(body, false),
    createForumTopic: (body) => ok({ message_thread_id: 4242, name: needText(body, "name"), icon_color: 7_322_096 }),
    editForumTopic: (body) => {
      if (Number(body["message_thread_id"]) !== 77) throw new Refusal(400, "Bad Request: TOPIC_ID_INVALID");
      return ok(needText(body, "name") !== "");
    },
    getChatMember: (body) => {
      if (Number(body["user_id"]) !== 1001) throw new Refusal(400, "Bad Request: member not found");
      return ok({ status: "administrator", user: { id: 1001, is_bot: false, first_name: "Ada", username: "ada" } });
    },
    answerCallbackQuery: (body) => ok(needText(body, "callback_query_id") !== ""),
    deleteWebhook: () => {
      this.webhook = undefined;
      return ok(true);
    },
    setMyCommands: (body) => this.#setMenu(body["commands"]),
    deleteMyCommands: () => this.#setMenu([]),
  };

  #chat(named: string): Answer {
    const id = this.publicNames.get(named) ?? Number(named);
    return Number.isNaN(id)
      ? refuse(400, "Bad Request: chat not found")
      : ok({ id, type: "supergroup", title: "Crew" });
  }

  /** Forgets updates of kinds that were not asked for. */
  #allow(kinds: unknown): void {
    const named: unknown = typeof kinds === "string" ? JSON.parse(kinds) : kinds;
    if (Array.isArray(named)) this.#allowed = new Set(named.map(String));
    const allowed = this.#allowed;
    const isHeard = (kind: string): boolean =>
      kind === "update_id" || (allowed ? allowed.has(kind) : !UNASKED.has(kind));
    this.#updates = this.#updates.filter((update) => Object.keys(update).every(isHeard));
  }

  /** #setwebhook: HTTPS, a port of four, and a secret of 1–256 of A-Z, a-z, 0-9, _ and -. */
  #setWebhook(body: Record<string, unknown>): Answer {
    const url = needText(body, "url");
    const secret = textOf(body["secret_token"]);
    if (!url.startsWith("https://"))
      throw new Refusal(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
    if (!["", "443", "80", "88", "8443"].includes(new URL(url).port))
      throw new Refusal(400, "Bad Request: bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443");
    if (!/^[A-Za-z0-9_-]{0,256}$/.test(secret))
      throw new Refusal(400, "Bad Request: secret token contains unallowed characters");
    this.#allow(body["allowed_updates"]);
    this.webhook = { url, secret };
    return ok(true);
  }

  /** #setmycommands, #botcommand */
  #setMenu(commands: unknown): Answer {
    if (!Array.isArray(commands)) throw new Refusal(400, "Bad Request: can't parse commands");
    if (commands.length > 100) throw new Refusal(400, "Bad Request: BOT_COMMANDS_TOO_MUCH");
    for (const command of commands) {
      const { command: name, description } = asRecord(command);
      if (!/^[a-z0-9_]{1,32}$/.test(textOf(name))) throw new Refusal(400, "Bad Request: BOT_COMMAND_INVALID");
      const length = textOf(description).length;
      if (length < 1 || length > 256) throw new Refusal(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID");
    }
    if (JSON.stringify(commands).length > this.mostInMenu) throw new Refusal(400, "Bad Request: BOT_COMMANDS_TOO_MUCH");
    this.menu = { commands, times: this.menu.times + 1 };
    return ok(true);
  }

  /** #sendmediagroup: 2–10 items, documents and sounds only among themselves. */
  #sendGroup(body: Record<string, unknown>): Answer {
    const items = groupOf(body);
    if (items.length < 2 || items.length > 10) throw new Refusal(400, "Bad Request: wrong number of messages to send");
    const kinds = new Set(items.map((item) => textOf(item["type"])));
    for (const kind of kinds) {
      if (!["photo", "video", "audio", "document"].includes(kind))
        throw new Refusal(400, `Bad Request: can't parse InputMedia: type "${kind}" can't be used in sendMediaGroup`);
      if (["audio", "document"].includes(kind) && kinds.size > 1)
        throw new Refusal(400, `Bad Request: ${kind} can't be mixed with other media types`);
    }
    const broken = items.findIndex((item) => item["media"] === "wrong-file-id");
    if (broken >= 0) {
      const why = "Wrong file identifier/HTTP URL specified";
      throw new Refusal(400, `Bad Request: failed to send message #${broken + 1} with the error message "${why}"`);
    }
    const made = items.map((item) => {
      const { type, media, ...words } = item;
      const { reply_markup: _none, media: _all, ...around } = body;
      return this.#send(METHODS_OF[textOf(type)] ?? "", { ...around, ...words, [textOf(type)]: media });
    });
    const refused = made.find(({ status }) => status !== 200);
    return refused ?? ok(made.map((answer) => answer.body["result"]));
  }

  #send(method: string, body: Record<string, unknown>): Answer {
    const chat = chatOf(body);
    const movedTo = this.#moved.get(chat);
    if (movedTo !== undefined) {
      return refuse(400, "Bad Request: group chat was upgraded to a supergroup chat", { migrate_to_chat_id: movedTo });
    }
    const thread = Number(body["message_thread_id"] ?? 0);
    // The General topic is named by leaving the thread out.
    if (this.#goneTopics.has(thread) || thread === 1) throw new Refusal(400, "Bad Request: message thread not found");
    const field = CONTENT[method] ?? "text";
    if (body[field] === undefined) throw new Refusal(400, `Bad Request: there is no ${field} in the request`);
    const text = method === "sendMessage" ? visible(body, "text", 4096) : visible(body, "caption", 1024);
    checkButtons(body["reply_markup"]);
    checkReply(body["reply_parameters"]);
    const message_id = this.#nextMessage++;
    this.#messages.set(`${chat}:${message_id}`, { chat, text, extra: extraOf(body), isFile: field !== "text" });
    this.#drafts.delete(chat);
    return ok(shownMessage(chat, message_id, text));
  }

  /** #sendmessagedraft: private chats only, a draft_id other than zero, up to 4,096 characters. */
  #draft(body: Record<string, unknown>): Answer {
    if (this.drafts === "unknown") return refuse(404, "Not Found: method not found");
    const chat = chatOf(body);
    if (this.drafts === "refused" || chat.startsWith("-"))
      throw new Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID");
    const id = Number(body["draft_id"] ?? 0);
    if (!Number.isSafeInteger(id) || id === 0) throw new Refusal(400, "Bad Request: RANDOM_ID_INVALID");
    this.#drafts.set(chat, { text: visible(body, "text", 4096), until: Date.now() + 30_000 });
    return ok(true);
  }

  #pin(body: Record<string, unknown>, isPinned: boolean): Answer {
    const key = this.#messageKey(body);
    if (!this.#messages.has(key))
      throw new Refusal(400, `Bad Request: message to ${isPinned ? "pin" : "unpin"} not found`);
    return ok(true);
  }

  #messageKey(body: Record<string, unknown>): string {
    const id = body["message_id"];
    if (!Number.isSafeInteger(Number(id)) || id === undefined)
      throw new Refusal(400, "Bad Request: message identifier is not specified");
    return `${chatOf(body)}:${Number(id)}`;
  }

  #edit(body: Record<string, unknown>, field: "text" | "caption"): Answer {
    const key = this.#messageKey(body);
    const message = this.#messages.get(key);
    if (!message) throw new Refusal(400, "Bad Request: message to edit not found");
    if (message.isFile !== (field === "caption"))
      throw new Refusal(400, `Bad Request: there is no ${field} in the message to edit`);
    const text = visible(body, field, field === "text" ? 4096 : 1024);
    checkButtons(body["reply_markup"]);
    if (text === message.text && extraOf(body) === message.extra) {
      throw new Refusal(
        400,
        "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    this.#messages.set(key, { ...message, text, extra: extraOf(body) });
    return ok(shownMessage(message.chat, Number(body["message_id"]), text));
  }

  #delete(body: Record<string, unknown>): Answer {
    if (!this.#messages.delete(this.#messageKey(body)))
      throw new Refusal(400, "Bad Request: message to delete not found");
    return ok(true);
  }

  #fileFacts(file_id: string): Answer {
    const file = this.#files.get(file_id);
    if (!file) return refuse(400, "Bad Request: invalid file_id");
    const { bytes, path } = file;
    return ok({ file_id, file_unique_id: `unique-${file_id}`, file_size: bytes.length, file_path: path });
  }

  #giveFile(token: string, path: string, response: http.ServerResponse): void {
    const fault = this.#takeFault("file");
    if (fault?.mode === "drop") return void response.destroy();
    if (fault) return void response.writeHead(Number(fault.mode), { "retry-after": String(fault.retryAfter) }).end();
    const bytes = this.#files.get(path.replace("files/", ""))?.bytes;
    if (token !== TOKEN || !bytes) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
  }
}

function faultAnswer(fault: { mode: Fault; retryAfter: number }): Answer {
  switch (fault.mode) {
    case "429":
      return refuse(429, `Too Many Requests: retry after ${fault.retryAfter}`, { retry_after: fault.retryAfter });
    case "500":
      return refuse(500, "Internal Server Error");
    case "bare":
      return { status: 400, body: { ok: false, error_code: 400 } };
    case "403":
      return refuse(403, "Forbidden: bot was blocked by the user");
    case "photo":
      return refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS");
    case "401":
      return refuse(401, "Unauthorized");
    case "409":
      return refuse(
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
      );
    case "webhook":
      return refuse(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    default:
      return refuse(400, "Bad Request: chat not found");
  }
}

const shownMessage = (chat: string, message_id: number, text: string): Record<string, unknown> => ({
  message_id,
  from: SELF,
  date: Math.floor(Date.now() / 1000),
  chat: { id: Number(chat), type: chat.startsWith("-") ? "supergroup" : "private" },
  text,
});

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
const extraOf = (body: Record<string, unknown>): string => JSON.stringify([body["parse_mode"], body["reply_markup"]]);

function needText(body: Record<string, unknown>, field: string): string {
  const value = textOf(body[field]);
  if (value === "") throw new Refusal(400, `Bad Request: ${field} is empty`);
  return value;
}

function chatOf(body: Record<string, unknown>): string {
  const chat = textOf(body["chat_id"]);
  if (!/^-?\d+$/.test(chat)) throw new Refusal(400, "Bad Request: chat not found");
  const thread = body["message_thread_id"];
  if (thread !== undefined && !Number.isSafeInteger(Number(thread)))
    throw new Refusal(400, "Bad Request: message thread not found");
  return chat;
}

/** What people see of a text, after its entities. */
function visible(body: Record<string, unknown>, field: string, limit: number): string {
  const source = textOf(body[field]);
  const mode = body["parse_mode"];
  if (mode !== undefined && mode !== "HTML") throw new Refusal(400, "Bad Request: unsupported parse_mode");
  const checked = mode === "HTML" ? checkHtml(source) : { text: source };
  if ("problem" in checked) throw new Refusal(400, `Bad Request: can't parse entities: ${checked.problem}`);
  if (field === "text" && checked.text.trim() === "") throw new Refusal(400, "Bad Request: message text is empty");
  if (checked.text.length > limit)
    throw new Refusal(
      400,
      field === "text" ? "Bad Request: message is too long" : "Bad Request: message caption is too long",
    );
  return checked.text;
}

function checkButtons(markup: unknown): void {
  if (markup === undefined) return;
  const { inline_keyboard: rows } = asRecord(markup);
  if (!Array.isArray(rows)) throw new Refusal(400, "Bad Request: object expected as reply markup");
  for (const button of rows.flat()) {
    const { text, callback_data: data } = asRecord(button);
    if (typeof text !== "string" || text === "")
      throw new Refusal(400, "Bad Request: inline keyboard button text is empty");
    if (typeof data !== "string" || Buffer.byteLength(data) > 64)
      throw new Refusal(400, "Bad Request: BUTTON_DATA_INVALID");
  }
}

function checkReply(parameters: unknown): void {
  if (parameters === undefined) return;
  if (!Number.isSafeInteger(asRecord(parameters)["message_id"]))
    throw new Refusal(400, "Bad Request: message to be replied not found");
}

/** The files of an album. */
function groupOf(body: Record<string, unknown>): Record<string, unknown>[] {
  const { media } = body;
  return Array.isArray(media) ? media.map(asRecord) : [];
}

function asRecord(value: unknown): Record<string, unknown> {
  const read: unknown = typeof value === "string" ? JSON.parse(value) : value;
  return typeof read === "object" && read !== null ? { ...read } : {};
}

function entitiesOf(text: string): Record<string, unknown>[] {
  const found = [...text.matchAll(/(^|\s)(\/\w+(?:@\w+)?|@\w+)/g)];
  return found.map((match) => {
    const word = match[2] ?? "";
    return {
      type: word.startsWith("/") ? "bot_command" : "mention",
      offset: match.index + (match[1] ?? "").length,
      length: word.length,
    };
  });
}

async function bytesOf(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parse(type: string, raw: Buffer): Record<string, unknown> {
  if (raw.length === 0) return {};
  if (type.includes("json")) return JSON.parse(raw.toString()) as Record<string, unknown>;
  const boundary = /boundary="?([^";]+)/.exec(type)?.[1];
  if (boundary === undefined) return Object.fromEntries(new URLSearchParams(raw.toString()));
  return multipart(raw, boundary);
}

/** Text fields as text, files as `{name, bytes}`; a field that names an attachment gets that file. */
function multipart(raw: Buffer, boundary: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const part of raw.toString("latin1").split(`--${boundary}`)) {
    const [head = "", ...rest] = part.split("\r\n\r\n");
    const name = /name="?([^";\r\n]+)/.exec(head)?.[1];
    if (name === undefined) continue;
    const bytes = Buffer.from(rest.join("\r\n\r\n").replace(/\r\n$/, ""), "latin1");
    const filename = /filename="?([^";\r\n]+)/.exec(head)?.[1];
    fields[name] = filename === undefined ? bytes.toString("utf8") : { name: filename, bytes };
  }
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string" && value.startsWith("attach://")) fields[name] = fields[value.slice(9)];
  }
  const { media } = fields;
  if (typeof media === "string") {
    const items = JSON.parse(media) as Record<string, unknown>[];
    fields["media"] = items.map((item) => ({
      ...item,
      media: fields[textOf(item["media"]).slice(9)] ?? item["media"],
    }));
  }
  return fields;
}
