import { Refusal, SELF } from "./slack-world.ts";
import type { FakeMessage, Slack } from "./slack-world.ts";

export type Body = Readonly<Record<string, string>>;
export type Method = (slack: Slack, body: Body) => Record<string, unknown>;

/** docs.slack.dev/reference/methods: characters of one markdown_text. */
const MAX_ENTRIES = 12_000;

/**
 * Messages that are shown as being written, after docs.slack.dev/reference/methods/chat.startStream, chat.appendStream and
 * chat.stopStream. While one is open chat.update and chat.delete refuse it.
 */
export const STREAMING: Readonly<Record<string, Method>> = {
  "chat.startStream": (slack, { channel = "", thread_ts, markdown_text: text = "", ...recipient }) => {
    if (thread_ts === undefined) throw new Refusal("invalid_arguments");
    if (thread_ts === "1.000001") throw new Refusal("thread_not_found");
    if (!channel.startsWith("D")) {
      if (recipient["recipient_user_id"] === undefined) throw new Refusal("missing_recipient_user_id");
      if (recipient["recipient_team_id"] === undefined) throw new Refusal("missing_recipient_team_id");
    }
    const own = { user: SELF.userId, bot_id: SELF.botId, isOpen: true };
    const message = slack.add({ channel, text: checked(text), thread_ts, ...own });
    slack.announce(message);
    return { channel, ts: message.ts };
  },
  "chat.appendStream": (slack, { channel, ts, markdown_text: text = "" }) => {
    if (text === "") throw new Refusal("no_text");
    openOf(slack, channel, ts).text += checked(text);
    return { channel, ts };
  },
  "chat.stopStream": (slack, { channel, ts, markdown_text: text = "", metadata }) => {
    const message = openOf(slack, channel, ts);
    message.text += checked(text);
    message.isOpen = false;
    if (metadata !== undefined) message.metadata = JSON.parse(metadata);
    return { channel, ts, message: slack.shape(message) };
  },
};

function openOf(slack: Slack, channel: string | undefined, ts: string | undefined): FakeMessage {
  const message = slack.findOwn(channel, ts, "message_not_owned_by_app");
  if (message.isOpen !== true) throw new Refusal("message_not_in_streaming_state");
  return message;
}

function checked(text: string): string {
  if (text.length > MAX_ENTRIES) throw new Refusal("msg_too_long");
  return text;
}
