import { telegram } from "../../extensions/telegram/index.ts";
import { DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { Peer } from "../../src/types/message.ts";
import { startFakeTelegram } from "../fakes/telegram.ts";
import type { FakeTelegram, Fault } from "../fakes/telegram.ts";
import type { Platform } from "./channel.ts";

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
    failReceive: (count) => fake.fail("getUpdates", "drop", count),
    unacknowledged: () => fake.pending.length,
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
