import { hasTool, section, type SystemContext, type SystemSection } from "../system-context.ts";

export const userIdentity: SystemSection = {
  name: "userIdentity",
  source: () => "commands.ownerAllowFrom",
  render: (context) =>
    context.ownerIds.length === 0
      ? undefined
      : section(
          "## User Identity",
          `Owner ids: ${context.ownerIds.join(", ")}. A sender with one of them is your user.`,
        ),
};

export const replyTags: SystemSection = {
  name: "replyTags",
  render: () =>
    section(
      "## Reply Tags",
      "Where the platform has native replies, a tag at the very beginning of your message makes it one:",
      "- [[reply_to_current]] answers the message that woke you; this is the one to use",
      "- [[reply_to:<id>]] answers another message, and only with an id that you were given",
      "Anywhere in it, [[media:<path or URL>]] sends that file along, and [[audio_as_voice]] sends audio as a voice note.",
      "Tags are taken out before the message is sent.",
    ),
};

export const messaging: SystemSection = {
  name: "messaging",
  render: (context) =>
    section(
      "## Messaging",
      "What you answer goes to the chat that the message came from; you need no tool for that.",
      hasTool(context, "sessions_send") ? "To reach another session, use `sessions_send`." : undefined,
      hasTool(context, "message")
        ? "`message` sends to other chats and does what text cannot: files, reactions, edits, where the channel has " +
            "them. If it already sent what the user should see, answer with NO_REPLY alone, so that nothing is said twice."
        : undefined,
      hasTool(context, "message") ? buttonHint(context) : undefined,
      "When there is nothing to say, your whole answer is NO_REPLY. Never put it beside other words.",
      "Do not send through a platform's API with shell commands: the gateway does the sending.",
    ),
};

function buttonHint({ runtime }: SystemContext): string | undefined {
  return runtime.capabilities?.includes("inlineButtons") === true
    ? "To offer a few choices, `message` puts buttons below a text: `buttons: [{text, callback_data}]`. A press comes as a " +
        "message `callback_data: ...` of whoever pressed, perhaps somebody else or much later, and counts as what they say."
    : undefined;
}

export const voice: SystemSection = {
  name: "voice",
  source: () => "messages.tts",
  render: (context) => (context.ttsHint === undefined ? undefined : section("## Voice (TTS)", context.ttsHint)),
};

export const heartbeats: SystemSection = {
  name: "heartbeats",
  source: () => "agents.defaults.heartbeat",
  render: (context) =>
    context.heartbeat === undefined
      ? undefined
      : section(
          "## Heartbeats",
          `From time to time you are woken with: ${context.heartbeat}`,
          "When nothing needs attention then, answer exactly HEARTBEAT_OK. When something does, leave that word out " +
            "and say what it is.",
        ),
};
