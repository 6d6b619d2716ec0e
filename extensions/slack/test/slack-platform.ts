import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import type { ChatNews, Peer } from "../../../src/types/chat/message.ts";
import type { Platform, PlatformFile } from "../../../test/contracts/channel.ts";
import { emojiOf, emojiName } from "../inbound/emoji.ts";
import { slack } from "../index.ts";
import { ADA, startFakeSlack, TOPIC } from "./fake-slack.ts";
import type { FakeMessage, FakeSlack } from "./fake-slack.ts";

const FAULTS: Readonly<Record<Parameters<Platform["failSends"]>[0], string>> = {
  limited: "429",
  broken: "500",
  dropped: "drop",
  lost: "lost",
  forbidden: "channel_not_found",
};
const where = { channel: slack.id, account: DEFAULT_ACCOUNT };
const CREW = { kind: "group", id: "C9", title: "crew" } as const;

/** Slack's side of the contract, and the fake behind it. */
export async function slackPlatform(): Promise<Platform & { readonly fake: FakeSlack; readonly topic: Peer }> {
  const fake = await startFakeSlack();
  let closed = false;
  return {
    fake,
    adapter: slack,
    config: { botToken: fake.botToken, appToken: fake.appToken, apiUrl: fake.url },
    wrongConfig: { botToken: "xoxb-wrong", appToken: fake.appToken, apiUrl: fake.url },
    direct: { ...where, chat: { kind: "direct", id: "D1" } },
    group: { ...where, chat: CREW },
    typedIn: { ...where, chat: CREW, thread: TOPIC },
    topic: { ...where, chat: CREW, thread: TOPIC },
    say: (to, text, how = {}) => speak(fake, to, text, how),
    shown: (peer) => bots(fake, peer).map(({ text }) => text),
    failSends: (how, count) => fake.fail("chat.postMessage", FAULTS[how], count),
    failReceive: (count) => fake.cut(fake.sockets > 0 ? count - 1 : count),
    unacknowledged: () => fake.pending.length,
    redeliver: () => fake.redeliver(),
    sayUnheard: (to, text) => void fake.say(to.chat.id, text, inThread(to), true),
    stream: {
      where: { ...where, chat: CREW, thread: TOPIC },
      shown: () => fake.messages.find(({ isOpen }) => isOpen)?.text,
      refuse: () => fake.fail("chat.startStream", "missing_scope", 100),
    },
    ...people(fake),
    ...sights(fake),
    async close() {
      if (closed) return;
      closed = true;
      await fake.close();
    },
  };
}

const inThread = (to: Peer): Record<string, string> => (to.thread === undefined ? {} : { thread_ts: to.thread });

function speak(fake: FakeSlack, to: Peer, text: string, how: { naming?: boolean; replyingToBot?: boolean }): string {
  const words = how.naming ? `${text} <@${fake.self.userId}>` : text;
  if (!how.replyingToBot) return fake.say(to.chat.id, words, inThread(to));
  const asked = fake.say(to.chat.id, "of the bot", { user: fake.self.userId, bot_id: fake.self.botId });
  return fake.say(to.chat.id, words, { thread_ts: asked });
}

function people(
  fake: FakeSlack,
): Pick<Platform, "change" | "react" | "news" | "press" | "attach" | "call" | "sayAsBot"> {
  return {
    change(to, messageId, text) {
      const message = { type: "message", user: ADA, ts: messageId };
      fake.inject({
        type: "message",
        subtype: "message_changed",
        channel: to.chat.id,
        ts: "1800000000.000001",
        message: { ...message, text, edited: { user: ADA, ts: "1800000000.000000" } },
        previous_message: { ...message, text: "before" },
      });
    },
    react: (to, messageId, emoji, { removed = false } = {}) =>
      fake.inject({
        type: removed ? "reaction_removed" : "reaction_added",
        user: ADA,
        reaction: emojiName(emoji),
        item: { type: "message", channel: to.chat.id, ts: messageId },
        item_user: fake.self.userId,
        event_ts: removed ? "1800000000.000002" : "1800000000.000001",
      }),
    news: newsOf(fake),
    press: (to, messageId, command) =>
      fake.deliver("interactive", {
        type: "block_actions",
        team: { id: fake.self.teamId, domain: "test" },
        user: { id: ADA, username: "ada", team_id: fake.self.teamId },
        channel: { id: to.chat.id, name: "directmessage" },
        message: { type: "message", ts: messageId },
        container: { type: "message", message_ts: messageId, channel_id: to.chat.id },
        trigger_id: "1.2.3",
        actions: [
          { type: "button", action_id: "openclaw:0", block_id: "b", value: command, action_ts: "1800000000.000003" },
        ],
      }),
    attach: (to, text, file) => attach(fake, to, text, file),
    call(to, rest, file) {
      const text = `<@${fake.self.userId}>${rest}`;
      if (file) attach(fake, to, text, file);
      else fake.say(to.chat.id, text, inThread(to));
    },
    sayAsBot: (to, text) =>
      void fake.say(to.chat.id, text, { user: "U77", bot_id: "B77", bot_profile: { id: "B77", name: "beeper" } }),
  };
}

function attach(fake: FakeSlack, to: Peer, text: string, { bytes, name = "file", mime }: PlatformFile): string {
  const file = fake.upload(bytes, { name, ...(mime !== undefined && { mimetype: mime }) });
  return fake.say(to.chat.id, text, { subtype: "file_share", files: [file] });
}

/** docs.slack.dev/reference/events: message.channel_join and its neighbours, message_deleted, pin_added */
function newsOf(fake: FakeSlack): NonNullable<Platform["news"]> {
  const channel = CREW.id;
  const tells = (event: Readonly<Record<string, unknown>>, news: ChatNews) => () => {
    fake.inject(event);
    return news;
  };
  const notice = { type: "message", channel, user: ADA };
  const pin = {
    user: ADA,
    channel_id: channel,
    item: { type: "message", channel, message: { ts: "1700000000.000900" } },
  };
  const before = { type: "message", user: ADA, text: "oops", ts: "1700000000.000901" };
  const deleted = {
    type: "message",
    subtype: "message_deleted",
    channel,
    deleted_ts: before.ts,
    previous_message: before,
  };
  return [
    tells({ ...notice, subtype: "channel_join", ts: "1800000001.000001" }, { kind: "joined" }),
    tells(
      { ...notice, subtype: "channel_join", user: "U2", inviter: ADA, ts: "1800000001.000002" },
      { kind: "joined", subject: "U2" },
    ),
    tells({ ...notice, subtype: "channel_leave", ts: "1800000001.000003" }, { kind: "left" }),
    tells(
      { ...notice, subtype: "channel_name", old_name: "crew", name: "team", ts: "1800000001.000004" },
      { kind: "renamed", subject: "team" },
    ),
    tells(
      { ...pin, type: "pin_added", event_ts: "1800000001.000005" },
      { kind: "pinned", messageId: "1700000000.000900" },
    ),
    tells(
      { ...pin, type: "pin_removed", event_ts: "1800000001.000006" },
      { kind: "unpinned", messageId: "1700000000.000900" },
    ),
    tells({ ...deleted, ts: "1800000001.000007" }, { kind: "deleted", messageId: before.ts }),
  ];
}

const bots = (fake: FakeSlack, peer: Peer): readonly FakeMessage[] =>
  fake.messages.filter(({ user, channel }) => user === fake.self.userId && channel === peer.chat.id);

function sights(fake: FakeSlack): Pick<Platform, "reactions" | "answers" | "files" | "albums" | "typed"> {
  return {
    typed: (peer) =>
      fake.calls.filter(
        ({ method, body }) => method === "assistant.threads.setStatus" && body["channel_id"] === peer.chat.id,
      ).length,
    reactions(peer, messageId) {
      const message = fake.messages.find(({ ts, channel }) => ts === messageId && channel === peer.chat.id);
      return [...(message?.reactions ?? [])].flatMap(([name, users]) =>
        users.has(fake.self.userId) ? [emojiOf(name)] : [],
      );
    },
    answers: (peer) => bots(fake, peer).map((message) => message.thread_ts),
    albums: (peer) => bots(fake, peer).flatMap(({ files = [] }) => files.length || []),
    files: (peer) => bots(fake, peer).flatMap((message) => fileOf(fake, message)),
  };
}

function fileOf(fake: FakeSlack, { files, text }: FakeMessage) {
  return (files ?? []).map(({ id, name }) => ({
    kind: "image" as const,
    bytes: fake.bytesOf(String(id)),
    name: String(name),
    caption: text,
  }));
}
