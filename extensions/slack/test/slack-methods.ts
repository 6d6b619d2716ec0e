import { ADA, FOREIGN, OPEN, Refusal, SELF } from "./slack-world.ts";
import { STREAMING } from "./slack-streaming.ts";
import { replies } from "./slack-replies.ts";
import type { Method } from "./slack-streaming.ts";

const CHANNELS: Record<string, string> = { C9: "crew", G8: "mpdm-ada--bob-1" };

/** Of all methods, this one alone takes the name of a channel too. */
const idOf = (named: string): string => Object.keys(CHANNELS).find((id) => named === `#${CHANNELS[id]}`) ?? named;

const list = (text: string | undefined): Record<string, unknown>[] =>
  text === undefined ? [] : (JSON.parse(text) as Record<string, unknown>[]);

const own = { user: SELF.userId, bot_id: SELF.botId };

/** The Web API, after docs.slack.dev/reference/methods. */
export const METHODS: Readonly<Record<string, Method>> = {
  "auth.test": () => ({
    url: "https://test.slack.com/",
    team: "Test",
    user: SELF.name,
    team_id: SELF.teamId,
    user_id: SELF.userId,
    bot_id: SELF.botId,
  }),
  "apps.connections.open": (slack) => ({
    url: `ws://127.0.0.1:${slack.entrance ?? slack.port}/link/?ticket=t&app_id=A1`,
  }),
  "users.info": (_slack, { user = "" }) => {
    if (user === "UGONE") throw new Refusal("user_not_found");
    const isBot = user === SELF.userId || user === "U77";
    const name = user === ADA ? "ada" : user.toLowerCase();
    const shown = user === ADA ? "Ada Lovelace" : user;
    return {
      user: { id: user, name, real_name: shown, is_bot: isBot, profile: { display_name: "", real_name: shown } },
    };
  },
  "users.conversations": (_slack, { types = "public_channel" }) => ({
    channels: [
      ...(types.split(",").includes("im") ? [{ id: "D1", is_im: true, user: ADA }] : []),
      ...(types.includes("public_channel") ? Object.keys(CHANNELS).map((id) => ({ id, name: CHANNELS[id] })) : []),
    ],
    response_metadata: { next_cursor: "" },
  }),
  "conversations.info": (_slack, { channel = "" }) => {
    if (["D1", "D2"].includes(channel)) return { channel: { id: channel, is_im: true, user: ADA } };
    if (channel === OPEN) return { channel: { id: channel, name: "open", is_member: false } };
    if (CHANNELS[channel] === undefined) throw new Refusal("channel_not_found");
    return { channel: { id: channel, name: CHANNELS[channel], is_member: true } };
  },
  "conversations.open": () => ({ channel: { id: "D1" } }),
  "conversations.history": (slack, { channel, include_all_metadata: metadata, limit = "100", ...span }) => {
    const { oldest = "0", latest = "Infinity" } = span;
    const isIn = (ts: string) => Number(ts) > Number(oldest) && Number(ts) < Number(latest);
    const all = slack.messages.filter((each) => each.channel === channel && isIn(each.ts));
    const main = all.filter((each) => each.thread_ts === undefined).toReversed();
    const messages = main.slice(0, Number(limit)).map((each) => slack.shape(each, metadata === "true"));
    return { messages, has_more: false, response_metadata: { next_cursor: "" } };
  },
  "conversations.replies": replies,
  "chat.postMessage": (slack, { channel: named = "", text = "", thread_ts, metadata, blocks }) => {
    const channel = idOf(named);
    if (channel === OPEN) throw new Refusal("not_in_channel");
    if (channel === "CGONE" || channel === FOREIGN) throw new Refusal("channel_not_found");
    if (text === "" && blocks === undefined) throw new Refusal("no_text");
    if (list(blocks).some((block) => block["type"] === "broken")) throw new Refusal("invalid_blocks");
    if (thread_ts === "1.000001") throw new Refusal("thread_not_found");
    const message = slack.add({
      channel,
      text: text.slice(0, 40_000),
      ...own,
      ...(thread_ts !== undefined && { thread_ts }),
      ...(metadata !== undefined && { metadata: JSON.parse(metadata) }),
      blocks: list(blocks),
    });
    slack.announce(message);
    return { channel, ts: message.ts, message: slack.shape(message) };
  },
  "chat.update": (slack, { channel, ts, text = "", blocks }) => {
    if (text.length > 4000) throw new Refusal("msg_too_long");
    const message = slack.findOwn(channel, ts, "cant_update_message");
    if (message.isOpen) throw new Refusal("streaming_state_conflict");
    const before = slack.shape(message);
    message.text = text;
    message.edited = { user: SELF.userId, ts: slack.ts() };
    message.blocks = list(blocks);
    const event = { type: "message", subtype: "message_changed", hidden: true, channel, ts: slack.ts() };
    slack.event({ ...event, message: slack.shape(message), previous_message: before });
    return { channel, ts, text };
  },
  "chat.delete": (slack, { channel, ts }) => {
    const message = slack.findOwn(channel, ts, "cant_delete_message");
    if (message.isOpen) throw new Refusal("cant_delete_message");
    slack.messages.splice(slack.messages.indexOf(message), 1);
    slack.event({ type: "message", subtype: "message_deleted", hidden: true, channel, ts: slack.ts(), deleted_ts: ts });
    return { channel, ts };
  },
  ...STREAMING,
  "reactions.add": (slack, { channel, timestamp, name = "" }) => {
    const { reactions } = slack.find(channel, timestamp);
    if (!/^[a-z0-9_+'-]+$/.test(name)) throw new Refusal("invalid_name");
    const users = reactions.get(name) ?? new Set();
    if (users.has(SELF.userId)) throw new Refusal("already_reacted");
    reactions.set(name, users.add(SELF.userId));
    const item = { type: "message", channel, ts: timestamp };
    slack.event({ type: "reaction_added", user: SELF.userId, reaction: name, item, event_ts: slack.ts() });
    return {};
  },
  "reactions.remove": (slack, { channel, timestamp, name = "" }) => {
    if (slack.find(channel, timestamp).reactions.get(name)?.delete(SELF.userId) !== true)
      throw new Refusal("no_reaction");
    return {};
  },
  "reactions.get": (slack, { channel, timestamp }) => ({
    type: "message",
    channel,
    message: slack.shape(slack.find(channel, timestamp)),
  }),
  "pins.add": (slack, { channel, timestamp }) => {
    const { pinned } = slack.find(channel, timestamp);
    if (pinned === true) throw new Refusal("already_pinned");
    slack.find(channel, timestamp).pinned = true;
    return {};
  },
  "pins.remove": (slack, { channel, timestamp }) => {
    if (slack.find(channel, timestamp).pinned !== true) throw new Refusal("no_pin");
    slack.find(channel, timestamp).pinned = false;
    return {};
  },
  "pins.list": (slack, { channel = "" }) => ({
    items: slack.messages
      .filter((each) => each.channel === channel && each.pinned === true)
      .map((each) => ({ type: "message", channel, message: slack.shape(each) })),
  }),
  "emoji.list": () => ({ emoji: { wave: "https://emoji.test/wave.png" } }),
  "files.getUploadURLExternal": (slack, { filename = "" }) => {
    const id = `F${slack.next()}`;
    slack.files.set(id, { bytes: new Uint8Array(), about: { id, name: filename } });
    return { upload_url: `http://127.0.0.1:${slack.port}/upload/${id}`, file_id: id };
  },
  "files.completeUploadExternal": (
    slack,
    { files, channel_id: channel = "", initial_comment: text = "", thread_ts },
  ) => {
    const forwardedLines = list(files).map(({ id }) => {
      const file = slack.files.get(String(id));
      if (!file) throw new Refusal("file_not_found");
      return file.about;
    });
    const message = slack.add({
      channel,
      text,
      ...own,
      ...(thread_ts !== undefined && { thread_ts }),
      files: forwardedLines,
      more: { subtype: "file_share" },
    });
    const shown = { [channel]: [{ ts: message.ts, ...(thread_ts !== undefined && { thread_ts }) }] };
    for (const about of forwardedLines)
      about["shares"] = channel.startsWith("C") ? { public: shown } : { private: shown };
    slack.announce(message);
    return { files: forwardedLines.map(({ id, name }) => ({ id, title: name })) };
  },
  "files.info": (slack, { file = "" }) => {
    const found = slack.files.get(file);
    if (!found) throw new Refusal("file_not_found");
    const isBehind = slack.unshown > 0;
    if (isBehind) slack.unshown -= 1;
    const { shares, ...about } = found.about;
    return { file: isBehind || shares === undefined ? about : { ...about, shares } };
  },
  "assistant.threads.setStatus": () => ({}),
};
