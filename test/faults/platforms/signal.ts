import { ADA, SELF, sender, startFakeSignal } from "../../../extensions/signal/test/fake-signal.ts";
import { openRelay } from "../../kit/tcp-relay.ts";
import { watchPushes, type KilledPlatform } from "./platform.ts";

const BOB = { number: "+15550001002", uuid: "22222222-2222-4222-8222-222222222222", name: "Bob" };
const PEOPLE = [ADA, BOB] as const;

export async function killedSignal(): Promise<KilledPlatform> {
  const fake = await startFakeSignal({ accounts: [{ number: SELF.number, aci: SELF.uuid }] });
  const wire = await openRelay(Number(new URL(fake.url).port));
  return {
    id: "signal",
    channel: { httpUrl: `http://127.0.0.1:${wire.port}` },
    isListening: () => fake.listeners > 0,
    say(chat, text) {
      const { timestamp: _own, ...from } = sender(fake.now(), PEOPLE[chat]);
      fake.say(text, {}, from);
    },
    show(text, picture) {
      fake.attachments.set("dot.png", Buffer.from(picture));
      const file = { contentType: "image/png", filename: "dot.png", id: "dot.png", size: picture.length };
      fake.say(text, { attachments: [file] });
    },
    shown: (chat) => fake.shown(PEOPLE[chat].uuid),
    onShown: (listener) => watchPushes(fake.messages, ({ text }) => listener(text)),
    deafen: () => void (wire.isDeaf = true),
    reconnect: () => void (wire.isDeaf = false),
    async close() {
      await wire.close();
      await fake.close();
    },
  };
}
