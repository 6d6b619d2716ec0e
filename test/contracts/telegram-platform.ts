import { z } from "zod";
import { telegram } from "../../extensions/telegram/index.ts";
import { DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { ChatNews, Peer } from "../../src/types/chat/message.ts";
import { startFakeTelegram } from "../fakes/telegram.ts";
import type { FakeTelegram, Fault, TelegramCall } from "../fakes/telegram.ts";
import type { Platform, PlatformFile } from "./channel.ts";

const FAULTS: Readonly<Record<Parameters<Platform["failSends"]>[0], Fault>> = {
  limited: "429",
  broken: "500",
  dropped: "drop",
  lost: "lost",
  forbidden: "403",
};
const where = { channel: telegram.id, account: DEFAULT_ACCOUNT };
const GROUP = { kind: "group", id: "-1009", title: "Crew" } as const;

/** Telegram's side of the contract, and the fake behind it. */
export async function telegramPlatform(): Promise<Platform & { readonly fake: FakeTelegram }> {
  const fake = await startFakeTelegram();
  let closed = false;
  return {
    fake,
    adapter: telegram,
    config: { botToken: fake.token, apiRoot: fake.url },
    wrongConfig: { botToken: "1:wrong", apiRoot: fake.url },
    direct: { ...where, chat: { kind: "direct", id: "1001" } },
    group: { ...where, chat: GROUP },
    topic: { ...where, chat: GROUP, thread: "77" },
    say: (to, text, more = {}) => String(speak(fake, to, text, more)),
    shown: (peer) => fake.shown(peer.chat.id),
    failSends: (how, count) => fake.fail("sendMessage", FAULTS[how], count),
    failTyping: () => fake.fail("sendChatAction", "403"),
    failReceive: (count) => fake.fail("getUpdates", "drop", count),
    unacknowledged: () => fake.pending.length,
    stream: {
      where: { ...where, chat: { kind: "direct", id: "1001" } },
      shown: () => fake.draft(1001),
      refuse: () => void (fake.drafts = "unknown"),
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

function speak(fake: FakeTelegram, to: Peer, text: string, how: { naming?: boolean; replyingToBot?: boolean }): number {
  const chat =
    to.chat.kind === "group"
      ? { chat: { id: Number(to.chat.id), type: "supergroup", title: "Crew", is_forum: true } }
      : {};
  const topic = to.thread === undefined ? {} : { is_topic_message: true, message_thread_id: Number(to.thread) };
  const reply = how.replyingToBot
    ? {
        reply_to_message: {
          message_id: 5,
          date: 1,
          from: { ...fake.self, is_bot: true, first_name: "Test Bot" },
          text: "before",
        },
      }
    : {};
  return fake.say(how.naming ? `${text} @${fake.self.username}` : text, { ...chat, more: { ...topic, ...reply } });
}

const ADA = { id: 1001, is_bot: false, first_name: "Ada", language_code: "en" };

const BOB = { id: 1002, is_bot: false, first_name: "Bob", last_name: "B" };
const GROUP_CHAT = { id: Number(GROUP.id), type: "supergroup", title: GROUP.title };

/** A service message: core.telegram.org/bots/api#message */
function tells(fake: FakeTelegram, what: Readonly<Record<string, unknown>>, news: ChatNews): ChatNews {
  fake.say("", { chat: GROUP_CHAT, more: { text: undefined, ...what } });
  return news;
}

/** What people do beside writing. */
function people(
  fake: FakeTelegram,
): Pick<Platform, "change" | "react" | "news" | "press" | "attach" | "call" | "quote" | "sayAsBot"> {
  const stamp = { date: Math.floor(Date.now() / 1000), from: ADA };
  return {
    change(to, messageId, text) {
      const edited = { ...stamp, message_id: Number(messageId), chat: chatOf(to), text, edit_date: stamp.date };
      fake.inject({ edited_message: edited });
    },
    react(to, messageId, emoji, how = {}) {
      const [none, one] = [[], [{ type: "emoji", emoji }]];
      const [before, after] = how.removed ? [one, none] : [none, one];
      const what = { message_id: Number(messageId), old_reaction: before, new_reaction: after };
      fake.inject({ message_reaction: { chat: chatOf(to), user: ADA, date: stamp.date, ...what } });
    },
    news: [
      () =>
        tells(
          fake,
          { pinned_message: { message_id: 3, date: 1, chat: GROUP_CHAT, text: "of Bob" } },
          { kind: "pinned", messageId: "3" },
        ),
      () => tells(fake, { new_chat_members: [ADA] }, { kind: "joined" }),
      () => tells(fake, { new_chat_members: [BOB] }, { kind: "joined", subject: "Bob B" }),
      () => tells(fake, { left_chat_member: BOB }, { kind: "left", subject: "Bob B" }),
      () => tells(fake, { new_chat_title: "New crew" }, { kind: "renamed", subject: "New crew" }),
    ],
    press(to, messageId, command) {
      const message = { message_id: Number(messageId), chat: chatOf(to), date: stamp.date, text: "question" };
      fake.inject({ callback_query: { id: "1", from: ADA, chat_instance: "1", message, data: command } });
    },
    attach: (to, text, file) => String(fake.say(text, { chat: chatOf(to), more: attached(fake, text, file) })),
    call(to, rest, file) {
      const text = `@${fake.self.username}${rest}`;
      const mention = [{ type: "mention", offset: 0, length: fake.self.username.length + 1 }];
      const marks = { entities: file ? undefined : mention, ...(file && { caption_entities: mention }) };
      fake.say(text, { chat: chatOf(to), more: { ...(file && attached(fake, text, file)), ...marks } });
    },
    quote(to, text, file) {
      const photo = [{ file_id: "quoted", file_unique_id: "quoted", width: 1, height: 1 }];
      fake.file("quoted", file.bytes);
      const original = { message_id: 3, date: stamp.date, from: ADA, chat: chatOf(to), photo };
      fake.say(text, { chat: chatOf(to), more: { reply_to_message: original } });
    },
    sayAsBot: (to, text) =>
      void fake.say(text, { chat: chatOf(to), from: { id: 77 }, more: { from: { ...ADA, id: 77, is_bot: true } } }),
  };
}

/** The fields of a message that is a file. */
function attached(fake: FakeTelegram, caption: string, file: PlatformFile) {
  const name = file.name ?? "file";
  fake.file(name, file.bytes);
  const document = { file_id: name, file_unique_id: name, file_name: name, mime_type: file.mime };
  return { text: undefined, caption, document };
}

const FILE_CALLS = new Map<string, PlatformFile["kind"]>([
  ["sendPhoto", "image"],
  ["sendDocument", "document"],
  ["sendVoice", "voice"],
  ["sendAudio", "audio"],
  ["sendVideo", "video"],
  ["sendMediaGroup", "image"],
]);
const fileShape = z.object({ bytes: z.instanceof(Uint8Array) });
const groupShape = z.array(z.object({ media: fileShape }));

function filesOf({ method, body, text }: TelegramCall): readonly PlatformFile[] {
  const kind = FILE_CALLS.get(method) ?? "document";
  const caption = text === "" ? {} : { caption: text };
  if (method === "sendMediaGroup")
    return groupShape.parse(body["media"]).map(({ media }, at) => ({ kind, ...media, ...(at === 0 && caption) }));
  return [{ kind, ...fileShape.parse(body[method.replace("send", "").toLowerCase()]), ...caption }];
}

const chatOf = ({ chat }: Peer) =>
  chat.kind === "direct"
    ? { id: Number(chat.id), type: "private", first_name: "Ada" }
    : { id: Number(chat.id), type: "supergroup", title: "Crew", is_forum: true };

/** A forum shows "typing…" in the topic that is named, and its General topic is 1 there, unlike to messages. */
const isSeenIn = ({ chat, thread }: Peer, body: Readonly<Record<string, unknown>>): boolean =>
  String(body["message_thread_id"]) === String(thread ?? (chat.kind === "group" ? 1 : undefined));

/** What people see beside texts. */
function sights(fake: FakeTelegram): Pick<Platform, "typed" | "reactions" | "answers" | "files" | "albums"> {
  const calls = (peer: Peer, method: string) =>
    fake.sent.filter((call) => call.method === method && call.chatId === peer.chat.id && call.ok);
  const fileCalls = (peer: Peer) =>
    fake.sent.filter((call) => FILE_CALLS.has(call.method) && call.chatId === peer.chat.id && call.ok);
  return {
    typed: (peer) => calls(peer, "sendChatAction").filter(({ body }) => isSeenIn(peer, body)).length,
    reactions(peer, messageId) {
      const last = calls(peer, "setMessageReaction").findLast((call) => call.messageId === Number(messageId));
      return parsed(last?.body["reaction"]).flatMap((reaction) => reaction.emoji ?? []);
    },
    files: (peer) => fileCalls(peer).flatMap(filesOf),
    albums: (peer) => fileCalls(peer).map((call) => filesOf(call).length),
    answers: (peer) =>
      calls(peer, "sendMessage").map(({ body }) => {
        const { message_id: id } = replyOf(body["reply_parameters"]);
        return id === undefined ? undefined : String(id);
      }),
  };
}

const parsed = (value: unknown): { emoji?: string }[] =>
  z
    .array(z.object({ emoji: z.string().optional() }))
    .parse(value ?? [])
    .map(({ emoji }) => (emoji === undefined ? {} : { emoji }));
const replyOf = (value: unknown): { message_id?: number | undefined } =>
  z.object({ message_id: z.number().optional() }).parse(value ?? {});
