/** `openclaw/plugin-sdk/plugin-runtime`. */
import { pluginHost, type PluginHost } from "../plugins/host-slot.ts";
import { isFields } from "../utils/fields.ts";

/** Calls the hooks of all plugins. */
export interface GlobalHookRunner {
  hasHooks(name: string): boolean;
  getHookCount(name: string): number;
  /** Before a message is sent. The handlers may change its text, each sees that of the one before, or cancel it. */
  runMessageSending(
    event: { readonly to: string; readonly content: string; readonly metadata?: unknown },
    context: object,
  ): Promise<{ readonly content?: string; readonly cancel?: boolean } | undefined>;
  runMessageSent(event: object, context: object): Promise<void>;
  runMessageReceived(event: object, context: object): Promise<void>;
}

/** The hooks of the gateway around the plugin; null in a process without one. Calls reject as a handler does. */
export function getGlobalHookRunner(): GlobalHookRunner | null {
  const host = pluginHost();
  if (!host) return null;
  const observe = async (name: string, event: object, context: object): Promise<void> => {
    await Promise.all(host.hooksOf(name).map(async (handler) => handler(event, context)));
  };
  return {
    hasHooks: (name) => host.hooksOf(name).length > 0,
    getHookCount: (name) => host.hooksOf(name).length,
    runMessageSending: (event, context) => sending(host, event, context),
    runMessageSent: (event, context) => observe("message_sent", event, context),
    runMessageReceived: (event, context) => observe("message_received", event, context),
  };
}

async function sending(
  host: PluginHost,
  event: { readonly content: string },
  context: object,
): Promise<{ content?: string; cancel?: boolean } | undefined> {
  let changed: string | undefined;
  for (const handler of host.hooksOf("message_sending")) {
    const answer: unknown = await handler({ ...event, content: changed ?? event.content }, context);
    if (!isFields(answer)) continue;
    if (answer["cancel"] === true) return { cancel: true };
    if (typeof answer["content"] === "string") changed = answer["content"];
  }
  return changed === undefined ? undefined : { content: changed };
}
