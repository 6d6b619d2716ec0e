import { startFakeDiscord } from "../../../extensions/discord/test/fake-discord.ts";
import { ADA } from "../../../extensions/discord/test/fake-world.ts";
import { openRelay } from "../../kit/tcp-relay.ts";
import type { KilledPlatform } from "./platform.ts";

const PEOPLE = [ADA, { ...ADA, id: "1002", username: "bob", global_name: "Bob" }] as const;

export async function killedDiscord(): Promise<KilledPlatform> {
  const fake = await startFakeDiscord();
  const wire = await openRelay(Number(new URL(fake.config.cdnUrl).port));
  const url = `http://127.0.0.1:${wire.port}`;
  // The address of the gateway is told by the REST API.
  fake.world.url = url;
  const channels = PEOPLE.map(({ id }) => fake.world.direct(id));
  const listeners: ((text: string) => void)[] = [];
  fake.tap(({ stage, text, method, path }) => {
    const isSend = method === "POST" && path.endsWith("/messages");
    if (stage === "done" && isSend) for (const listener of listeners) listener(text);
  });
  return {
    id: "discord",
    channel: { token: fake.token, apiUrl: `${url}/api`, cdnUrl: url },
    isListening: () => fake.gateway.isHeard,
    say: (chat, text) => void fake.say(channels[chat] ?? "", text, { from: PEOPLE[chat] }),
    show: (text, picture) =>
      void fake.say(channels[0] ?? "", text, {
        from: PEOPLE[0],
        files: [{ name: "dot.png", bytes: picture, mime: "image/png" }],
      }),
    shown: (chat) => fake.shown(channels[chat] ?? ""),
    onShown: (listener) => void listeners.push(listener),
    deafen: () => void (wire.isDeaf = true),
    reconnect: () => void (wire.isDeaf = false),
    async close() {
      await wire.close();
      await fake.close();
    },
  };
}
