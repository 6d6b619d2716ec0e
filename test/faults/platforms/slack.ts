import { ADA, startFakeSlack } from "../../../extensions/slack/test/fake-slack.ts";
import { openRelay } from "../../kit/tcp-relay.ts";
import { watchPushes, type KilledPlatform } from "./platform.ts";

const CHATS = [
  { id: "D1", user: ADA },
  { id: "D2", user: "U1002" },
] as const;

export async function killedSlack(): Promise<KilledPlatform> {
  const fake = await startFakeSlack();
  const wire = await openRelay(Number(new URL(fake.url).port));
  fake.entrance = wire.port;
  return {
    id: "slack",
    channel: { botToken: fake.botToken, appToken: fake.appToken, apiUrl: `http://127.0.0.1:${wire.port}/api/` },
    isListening: () => fake.sockets > 0,
    say: (chat, text) => void fake.say(CHATS[chat].id, text, { user: CHATS[chat].user }),
    show(text, picture) {
      const file = fake.upload(picture, { name: "dot.png", mimetype: "image/png" });
      // Files lie behind the same line as the API.
      const url = `http://127.0.0.1:${wire.port}${new URL(String(file["url_private"])).pathname}`;
      Object.assign(file, { url_private: url, url_private_download: url });
      fake.say(CHATS[0].id, text, { user: CHATS[0].user, subtype: "file_share", files: [file] });
    },
    shown: (chat) =>
      fake.messages
        .filter(({ user, channel }) => user === fake.self.userId && channel === CHATS[chat].id)
        .map(({ text }) => text),
    unacknowledged: () => fake.pending.length,
    onShown: (listener) => watchPushes(fake.messages, ({ text, user }) => user === fake.self.userId && listener(text)),
    deafen: () => void (wire.isDeaf = true),
    reconnect: () => void (wire.isDeaf = false),
    async close() {
      await wire.close();
      await fake.close();
    },
  };
}
