import type { PluginEventPorts } from "../../plugins/ports.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { background } from "../../utils/background.ts";
import type { Core } from "../compose/core.ts";
import type { Live } from "../live.ts";

/**
 * Writes a hook's text into a conversation: into the conversation's chat, or into its transcript when it has no chat.
 */
export const sayByHook =
  (live: Live, { dispatch, sessions, ports }: Pick<Core, "dispatch" | "sessions" | "ports">): PluginEventPorts["say"] =>
  (owner, { sessionKey: key, text, event }) => {
    const { notices, notes } = dispatch.replies;
    const to = chatOf(key, sessions.peek(key), live.defaultAgent.id);
    if (!to) return notes.line(key, text);
    // The notice is sent once for each event, also when a turn is run again after a crash.
    const notice = { key: `hook:${owner}:${event}`, text, because: "hook" as const };
    background("a message of a hook", notices.send(to, notice), ports.log);
  };
