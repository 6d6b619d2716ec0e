import { isFields, type Fields } from "../../../../utils/fields.ts";
import { accountId, channelId } from "../../../../types/ids.ts";
import { methodIn, numberIn, objectOf, textIn, textsIn } from "../../foreign.ts";
import { refusedMembers } from "../../refused.ts";
import { forPlugin } from "../../../exchanged-keys.ts";
import { sessionFilePlaces } from "../../session-files.ts";
import {
  createDispatcher,
  typingOf,
  type PluginScope,
  type TypingCallbacks,
  type ConnectedAccount,
} from "../../scope.ts";
import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { mediaKindOf } from "../../../../types/chat/media-kind.ts";
import type { InboundMessage, MediaItem, Peer, QuotedMessage, Sender } from "../../../../types/chat/message.ts";
import { backoff } from "../../../../utils/backoff.ts";
import { pause } from "../../../../utils/pause.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import type { CommandTarget } from "../../../ports.ts";
import { followMessage } from "./follow-reply.ts";
import { defined } from "../../../../utils/defined.ts";

/**
 * `runtime.channel` and `channelRuntime` of `startAccount`: functions with which the field's channels pass messages on.
 */
export function channelRuntimeOf(scope: PluginScope): object {
  return {
    routing: { resolveAgentRoute: (asked: unknown) => routeOf(scope, asked) },
    session: {
      ...sessionFilePlaces(scope),
      // The journal records the session with the message.
      recordInboundSession: async () => undefined,
      updateLastRoute: async () => undefined,
      readSessionUpdatedAt: () => undefined,
    },
    reply: { ...refusedMembers(scope, "api.runtime.channel.reply"), ...replyOf(scope) },
    text: refusedMembers(scope, "api.runtime.channel.text"),
    media: { ...refusedMembers(scope, "api.runtime.channel.media"), saveMediaBuffer: saver(scope) },
    commands: {
      shouldComputeCommandAuthorized: (text: unknown) => isCommand(text),
      isControlCommandMessage: (text: unknown) => isCommand(text),
      shouldHandleTextCommands: () => true,
      // Whether the sender may give the command is decided by the gateway's own rules.
      resolveCommandAuthorizedFromAuthorizers: (asked: unknown) => isAnyAllowed(asked),
    },
    pairing: {
      // The gateway pairs strangers itself, after the plugin: to the plugin everybody is allowed.
      readAllowFromStore: async () => ["*"],
      upsertPairingRequest: async () => ({ code: "", created: false }),
      buildPairingReply: () => "",
    },
    activity: { record: () => undefined, get: () => ({ inboundAt: null, outboundAt: null }) },
  };
}

const isCommand = (text: unknown): boolean => typeof text === "string" && text.trimStart().startsWith("/");

function isAnyAllowed(asked: unknown): boolean {
  const list = isFields(asked) ? asked["authorizers"] : undefined;
  return Array.isArray(list) && list.some((one: unknown) => isFields(one) && one["allowed"] === true);
}

/** The agent and the session of a chat, as the gateway will choose both for the chat's next message. */
function routeOf(scope: PluginScope, asked: unknown): object {
  const { channel, accountId: account, peer } = objectOf(asked, "resolveAgentRoute");
  const { kind, id } = isFields(peer) ? peer : {};
  const from = {
    channel: channelId(String(channel)),
    account: accountId(typeof account === "string" ? account : "default"),
    chat: { kind: kind === "group" || kind === "channel" ? ("group" as const) : ("direct" as const), id: String(id) },
  };
  const route = scope.ports.channels.routeOf(from);
  return {
    ...forPlugin(route, scope.ports.keys),
    channel: from.channel,
    accountId: from.account,
    matchedBy: "default",
  };
}

function replyOf(scope: PluginScope) {
  const typing = new WeakMap<object, TypingCallbacks>();
  const dispatch = async (asked: Fields, callbacks: TypingCallbacks | undefined) => {
    const options = asked["replyOptions"];
    const replyOptions = isFields(options) ? options : undefined;
    await dispatchInbound(scope, objectOf(asked["ctx"], "the message of a channel"), {
      typing: callbacks,
      replyOptions,
    });
    // The answer is the gateway's: for the plugin nothing is left to send.
    return { queuedFinal: true, counts: { tool: 0, block: 0, final: 1 } };
  };
  const create = (given: unknown) => {
    const options = objectOf(given, "createReplyDispatcher");
    const dispatcher = createDispatcher(options);
    const callbacks = typingOf(options);
    if (callbacks) typing.set(dispatcher, callbacks);
    return { dispatcher, replyOptions: {}, markDispatchIdle: () => undefined, markRunComplete: () => undefined };
  };
  return {
    finalizeInboundContext,
    resolveHumanDelayConfig: () => undefined,
    resolveEffectiveMessagesConfig: () => ({}),
    // The gateway itself adds who wrote and when.
    resolveEnvelopeFormatOptions: () => ({}),
    formatAgentEnvelope: bodyIn,
    formatInboundEnvelope: bodyIn,
    createReplyDispatcher: (options: unknown) => create(options).dispatcher,
    createReplyDispatcherWithTyping: create,
    withReplyDispatcher,
    dispatchReplyFromConfig: (given: unknown) => {
      const asked = objectOf(given, "dispatchReplyFromConfig");
      const { dispatcher } = asked;
      return dispatch(asked, isFields(dispatcher) ? typing.get(dispatcher) : undefined);
    },
    dispatchReplyWithBufferedBlockDispatcher: (given: unknown) => {
      const asked = objectOf(given, "dispatchReplyWithBufferedBlockDispatcher");
      const options = asked["dispatcherOptions"];
      return dispatch(asked, isFields(options) ? typingOf(options) : undefined);
    },
  };
}

function bodyIn(asked: unknown): string {
  return isFields(asked) ? (textIn(asked, "body") ?? "") : "";
}

/** Completes the texts of a message from its `Body`, in the object itself. */
function finalizeInboundContext(given: unknown): object {
  const context = objectOf(given, "finalizeInboundContext");
  const body = textIn(context, "Body") ?? "";
  const raw = textIn(context, "RawBody") ?? textIn(context, "CommandBody") ?? body;
  return Object.assign(context, {
    Body: body,
    BodyForAgent: textIn(context, "BodyForAgent") ?? body,
    BodyForCommands: textIn(context, "BodyForCommands") ?? textIn(context, "CommandBody") ?? raw,
    CommandAuthorized: context["CommandAuthorized"] === true,
  });
}

/** Runs a dispatch and waits for messages that the plugin itself has put into its dispatcher. */
async function withReplyDispatcher(given: unknown): Promise<unknown> {
  const asked = objectOf(given, "withReplyDispatcher");
  const dispatcher = objectOf(asked["dispatcher"], "withReplyDispatcher");
  try {
    return await methodIn(asked, "run", "withReplyDispatcher")();
  } finally {
    await methodIn(dispatcher, "waitForIdle", "a dispatcher")();
    const settled = asked["onSettled"];
    if (typeof settled === "function") await Reflect.apply(settled, undefined, []);
  }
}

/** `media.saveMediaBuffer(bytes, type, folder, most bytes, name)`. Rejects for a file that is too large. */
const saver =
  (scope: PluginScope) =>
  async (bytes: unknown, ...more: readonly unknown[]): Promise<object> => {
    const [mime, _folder, most, name] = more;
    if (!(bytes instanceof Uint8Array)) throw new TypeError("saveMediaBuffer takes bytes");
    const limit = numberIn({ most }, "most");
    if (limit !== undefined && bytes.byteLength > limit)
      throw new Error(`the file has ${bytes.byteLength} bytes; the limit is ${limit}`);
    const kept = await scope.ports.channels.saveMedia(bytes, {
      ...(typeof mime === "string" && { mime }),
      ...(typeof name === "string" && { name }),
    });
    return { id: kept.id, path: kept.path, size: kept.bytes, contentType: kept.mime };
  };

interface DispatchOptions {
  readonly typing?: TypingCallbacks | undefined;
  /** Options with the callbacks that follow the run. */
  readonly replyOptions?: Fields | undefined;
}

/**
 * Passes a message of the field's form to the gateway. Resolves when it is durable. Many plugins have acknowledged it by
 * then, so a message that cannot be stored is tried again until the account stops; only then it rejects.
 */
async function dispatchInbound(
  scope: PluginScope,
  context: Fields,
  { typing, replyOptions = {} }: DispatchOptions,
): Promise<void> {
  const channel = firstText(context, ["OriginatingChannel", "Provider", "Surface"]);
  const account = scope.accounts.find(channel, firstText(context, ["AccountId"]));
  const options = targetOf(scope, context, account.channel);
  const message = { ...messageOf(context, account, scope.ports.clock.now()), ...(options && { options }) };
  const media = await Promise.all(filesIn(context).map((file) => itemOf(scope, file)));
  // The turn may begin before the message is reported as durable.
  if (typing) {
    account.typing.set(message.from.chat.id, typing);
    account.showTyping();
  }
  const stored = store(scope, account, { ...message, media: media.filter((item) => item !== undefined) });
  followMessage(scope, { account, eventKey: message.eventKey, stored }, replyOptions);
  await stored;
}

/** A command of a button or menu names the conversation that it is for; its own chat need not exist. */
function targetOf(scope: PluginScope, context: Fields, channel: string): CommandTarget | undefined {
  const target = context["CommandSource"] === "native" ? firstText(context, ["CommandTargetSessionKey"]) : undefined;
  const { channels, keys } = scope.ports;
  return target === undefined ? undefined : channels.commandTarget(channel, keys.inner(target));
}

async function store(scope: PluginScope, { host }: ConnectedAccount, message: InboundMessage): Promise<void> {
  const signal = AbortSignal.any([host.signal, scope.signal]);
  for (let failures = 0; ; failures++) {
    try {
      return await scope.outside(() => host.receive([message]));
    } catch (error) {
      if (signal.aborted) throw error;
      const retryInMs = backoff(failures);
      host.report({ kind: "trouble", reason: errorText(error), retryInMs });
      await pause(retryInMs, { clock: scope.ports.clock, signal });
      if (signal.aborted) throw error;
    }
  }
}

/** A file of this machine goes into the media store, since the plugin may remove it; an address is fetched with the turn. */
async function itemOf(scope: PluginScope, { path, url, mime }: NamedFile): Promise<MediaItem | undefined> {
  const local = path ?? (url !== undefined && !/^https?:/.test(url) ? url : undefined);
  if (local === undefined) return { kind: mediaKindOf(mime ?? ""), source: { at: "platform", ref: url ?? "" } };
  try {
    const file = local.startsWith("file:") ? fileURLToPath(local) : local;
    const facts = { name: basename(file), ...(mime !== undefined && { mime }) };
    const kept = await scope.ports.channels.saveMedia(await readFile(file), facts);
    return {
      kind: mediaKindOf(kept.mime),
      mime: kept.mime,
      bytes: kept.bytes,
      name: facts.name,
      source: { at: "store", id: kept.id },
    };
  } catch (error) {
    scope.log.warn("file of a message cannot be read", { file: local, error });
    return undefined;
  }
}

/** Seconds since 1970 are below this number, milliseconds above it. */
const FIRST_MILLISECONDS = 100_000_000_000;

/** The message of a `MsgContext`, without its files. */
function messageOf(context: Fields, { channel, account }: ConnectedAccount, now: number): InboundMessage {
  const from = peerOf(context, { channel: channelId(channel), account: accountId(account) });
  const sender = senderOf(context);
  const text = firstText(context, ["RawBody", "CommandBody", "BodyForAgent", "Body"]) ?? "";
  const sentAt = millisecondsOf(numberIn(context, "Timestamp"));
  const id = firstText(context, ["MessageSidFull", "MessageSid"]) ?? madeId([from.chat.id, sender.id, text], sentAt);
  const replyTo = quoteOf(context);
  const untrusted = [
    ...(textsIn(context, "UntrustedContext") ?? []),
    ...(textsIn(context, "ChannelPromptContext") ?? []),
  ];
  return {
    id,
    eventKey: `${from.chat.id}:${id}`,
    from,
    sender,
    text,
    media: [],
    mentionsBot: from.chat.kind === "direct" || context["WasMentioned"] === true,
    receivedAt: now,
    ...defined({ replyTo, sentAt }),
    ...(untrusted.length > 0 && { untrusted }),
    ...(context["CommandSource"] === "native" && { event: "command" as const }),
  };
}

/** The chat is where the answer goes: `OriginatingTo`, else `To`. */
function peerOf(context: Fields, place: Pick<Peer, "channel" | "account">): Peer {
  const id = firstText(context, ["OriginatingTo", "To", "From"]) ?? "";
  if (id === "") throw new TypeError("a message needs the text OriginatingTo or To, the chat that it came from");
  const type = textIn(context, "ChatType");
  const isGroup = type === "group" || type === "channel" || type === "thread";
  const title = isGroup ? firstText(context, ["GroupSubject", "ConversationLabel"]) : undefined;
  const thread = context["MessageThreadId"];
  return {
    ...place,
    chat: { kind: isGroup ? "group" : "direct", id, ...defined({ title }) },
    ...((typeof thread === "string" || typeof thread === "number") && { thread: String(thread) }),
  };
}

function senderOf(context: Fields): Sender {
  const facts = {
    name: firstText(context, ["SenderName"]),
    username: firstText(context, ["SenderUsername"]),
    e164: firstText(context, ["SenderE164"]),
  };
  const id = firstText(context, ["SenderId", "From"]);
  if (id === undefined) throw new TypeError("a message needs the text SenderId or From");
  return { id, ...defined(facts), ...(context["SenderIsBot"] === true && { isBot: true }) };
}

function quoteOf(context: Fields): QuotedMessage | undefined {
  const id = firstText(context, ["ReplyToIdFull", "ReplyToId"]);
  const text = firstText(context, ["ReplyToQuoteText", "ReplyToBody"]);
  if (id === undefined && text === undefined) return undefined;
  const fromBot = context["ReplyToIsBot"] === true ? true : undefined;
  return { id: id ?? "", ...defined({ text, sender: firstText(context, ["ReplyToSender"]), fromBot }) };
}

/** A file that a message names: a path of this machine, or an address. */
interface NamedFile {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly mime?: string | undefined;
}

function filesIn(context: Fields): readonly NamedFile[] {
  const listOf = (many: string, one: string): readonly (string | undefined)[] =>
    textsIn(context, many) ?? [firstText(context, [one])];
  const paths = listOf("MediaPaths", "MediaPath");
  const urls = listOf("MediaUrls", "MediaUrl");
  const types = listOf("MediaTypes", "MediaType");
  return Array.from({ length: Math.max(paths.length, urls.length) }, (_, at) => ({
    path: paths[at],
    url: urls[at],
    mime: types[at],
  })).filter(({ path, url }) => (path ?? url) !== undefined);
}

/** Undefined for an empty text. */
function firstText(context: Fields, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const text = textIn(context, key);
    if (text !== undefined && text.trim() !== "") return text;
  }
  return undefined;
}

const millisecondsOf = (at: number | undefined): number | undefined =>
  at !== undefined && at < FIRST_MILLISECONDS ? at * 1000 : at;

/** A message without an id is recognised by its content and time; without a time nothing says whether it came before. */
function madeId(parts: readonly string[], sentAt: number | undefined): string {
  if (sentAt === undefined) return randomUUID();
  return createHash("sha256")
    .update(JSON.stringify([...parts, sentAt]))
    .digest("hex")
    .slice(0, 32);
}
