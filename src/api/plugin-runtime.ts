/** `openclaw/plugin-sdk/plugin-runtime`. */
import { fromPlugin } from "../plugins/exchanged-keys.ts";
import { pluginHost, type PluginHost } from "../plugins/host-slot.ts";
import { isOutboxSend } from "../plugins/outbox-send.ts";
import { isFields } from "../utils/fields.ts";

/** Calls the hooks of all plugins. */
export interface GlobalHookRunner {
  hasHooks(name: string): boolean;
  getHookCount(name: string): number;
  /**
   * Called before a message is sent. The handlers may change its text, each sees the text of the handler before, or
   * cancel the message.
   */
  runMessageSending(
    event: { readonly to: string; readonly content: string; readonly metadata?: unknown },
    context: object,
  ): Promise<{ readonly content?: string; readonly cancel?: boolean } | undefined>;
  runMessageSent(event: object, context: object): Promise<void>;
  runMessageReceived(event: object, context: object): Promise<void>;
}

/** Hooks that the gateway calls for every message that a channel passes on or is to send. */
const isCalledByGateway = (name: string): boolean =>
  name === "message_received" || (isOutboxSend() && (name === "message_sending" || name === "message_sent"));

/**
 * The hooks of the gateway around the plugin; null in a process without one. Calls reject as a handler does. Hooks that the
 * gateway calls by itself for the message at hand are not there: they would be called twice.
 */
export function getGlobalHookRunner(): GlobalHookRunner | null {
  const host = pluginHost();
  if (!host) return null;
  const handlersOf = (name: string) => (isCalledByGateway(name) ? [] : host.hooksOf(name));
  const inside = (value: object): object => fromPlugin(value, host.keys);
  const observe = async (name: string, event: object, context: object): Promise<void> => {
    const asked = { event: inside(event), context: inside(context) };
    await Promise.all(handlersOf(name).map(async (handler) => handler(asked.event, asked.context)));
  };
  return {
    hasHooks: (name) => handlersOf(name).length > 0,
    getHookCount: (name) => handlersOf(name).length,
    runMessageSending: (event, context) => sending(handlersOf("message_sending"), event, inside(context)),
    runMessageSent: (event, context) => observe("message_sent", event, context),
    runMessageReceived: (event, context) => observe("message_received", event, context),
  };
}

async function sending(
  handlers: ReturnType<PluginHost["hooksOf"]>,
  event: { readonly content: string },
  context: object,
): Promise<{ content?: string; cancel?: boolean } | undefined> {
  let changed: string | undefined;
  for (const handler of handlers) {
    const answer: unknown = await handler({ ...event, content: changed ?? event.content }, context);
    if (!isFields(answer)) continue;
    if (answer["cancel"] === true) return { cancel: true };
    if (typeof answer["content"] === "string") changed = answer["content"];
  }
  return changed === undefined ? undefined : { content: changed };
}
