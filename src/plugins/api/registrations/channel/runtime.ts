import { isFields, type Fields } from "../../../../utils/fields.ts";
import { accountId, channelId } from "../../../../types/ids.ts";
import { methodIn, numberIn, objectOf, textIn } from "../../foreign.ts";
import { refusedMembers } from "../../refused.ts";
import { sessionFilePlaces } from "../../session-files.ts";
import type { PluginScope } from "../../scope.ts";
import { dispatchInbound } from "./dispatch.ts";
import { createDispatcher, typingOf, type TypingCallbacks } from "../../dispatcher.ts";

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
  return { ...route, channel: from.channel, accountId: from.account, matchedBy: "default" };
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
