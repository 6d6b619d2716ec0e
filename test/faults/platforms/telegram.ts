import { startFakeTelegram } from "../../fakes/telegram.ts";
import { openRelay } from "../../kit/tcp-relay.ts";
import { watchPushes, type KilledPlatform } from "./platform.ts";

const PEOPLE = [1001, 1002] as const;

export async function killedTelegram(): Promise<KilledPlatform> {
  const fake = await startFakeTelegram();
  const wire = await openRelay(Number(new URL(fake.url).port));
  return {
    id: "telegram",
    channel: { botToken: fake.token, apiRoot: `http://127.0.0.1:${wire.port}` },
    isListening: () => fake.polls.open > 0,
    say: (chat, text) => void fake.say(text, { from: { id: PEOPLE[chat] } }),
    show(text, picture) {
      fake.file("picture", picture);
      const photo = [{ file_id: "picture", file_unique_id: "p", width: 1, height: 1, file_size: picture.length }];
      fake.say("", { from: { id: PEOPLE[0] }, more: { text: undefined, caption: text, photo } });
    },
    shown: (chat) => fake.shown(PEOPLE[chat]),
    growing: (chat) => fake.draft(PEOPLE[chat]),
    unacknowledged: () => fake.pending.length,
    onShown: (listener) => watchPushes(fake.sent, ({ text, ok }) => ok && text !== "" && listener(text)),
    deafen: () => void (wire.isDeaf = true),
    reconnect: () => void (wire.isDeaf = false),
    async close() {
      await wire.close();
      await fake.close();
    },
  };
}
