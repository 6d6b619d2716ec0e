import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startFakeWhatsapp } from "../../../extensions/whatsapp/test/fake/fake-whatsapp.ts";
import { userOf } from "../../../extensions/whatsapp/jid.ts";
import { silenceSignalLogs } from "../../../extensions/whatsapp/link/log-filter.ts";
import { openRelay } from "../../kit/tcp-relay.ts";
import { watchPushes, type KilledPlatform } from "./platform.ts";

const TRUST = join(import.meta.dirname, "../../../extensions/whatsapp/test/trust-fake.mjs");

/** A WhatsApp that gateways of their own processes take for the real one, behind a line that a test can spoil. */
export async function wiredWhatsapp(slow?: () => number) {
  silenceSignalLogs();
  const fake = await startFakeWhatsapp();
  const wire = await openRelay(fake.port, slow);
  return {
    fake,
    wire,
    start: {
      id: "whatsapp",
      channel: { waWebSocketUrl: `ws://127.0.0.1:${wire.port}/ws/chat`, mediaUrl: `http://127.0.0.1:${wire.port}` },
      env: { NODE_OPTIONS: `--import ${pathToFileURL(TRUST).href}` },
      async prepare(stateDir: string): Promise<void> {
        const folder = join(stateDir, "credentials", "whatsapp", "default");
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await fake.link(folder);
      },
    },
  };
}

export async function killedWhatsapp(): Promise<KilledPlatform> {
  const { fake, wire, start } = await wiredWhatsapp();
  const people = [fake.ada, fake.bob] as const;
  let logins = 0;
  return {
    ...start,
    isListening: () => fake.logins > logins,
    say: (chat, text) => void fake.say({ conversation: text }, { by: people[chat] }),
    show(text, picture) {
      const image = { ...fake.sealFile(picture, "Image"), mimetype: "image/png", caption: text };
      fake.say({ imageMessage: image }, { by: people[0] });
    },
    shown: (chat) => fake.shown.filter((one) => one.chat === userOf(people[chat].phone)).map(({ text }) => text),
    unacknowledged: () => fake.queue.length,
    onShown: (listener) => watchPushes(fake.shown, ({ text }) => listener(text)),
    deafen: () => void (wire.isDeaf = true),
    reconnect() {
      logins = fake.logins;
      wire.isDeaf = false;
    },
    async close() {
      await wire.close();
      await fake.close();
    },
  };
}
