import fs from "node:fs";
import path from "node:path";
import { DiscordAPIError } from "@discordjs/rest";
import type { GatewayDispatchPayload } from "discord-api-types/v10";
import { expect, test } from "vitest";
import type { Api } from "../../../extensions/discord/api.ts";
import { discordConfig } from "../../../extensions/discord/config.ts";
import { createBot } from "../../../extensions/discord/connect.ts";
import { readEvent } from "../../../extensions/discord/inbound/inbound.ts";
import type { InboundMessage } from "../../../src/types/chat/message.ts";
import { Host } from "../../contracts/channel.ts";

interface Replay {
  /** What Discord answers when it is asked, by route. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly events: readonly (GatewayDispatchPayload & { readonly s: number })[];
  readonly expected: readonly unknown[];
}

/** Knows what was recorded, and nothing else. */
const recorded = (rest: Replay["rest"]): Api => ({
  token: "",
  async ask<T>(method: string, route: string): Promise<T> {
    if (Object.hasOwn(rest, route)) return rest[route] as T;
    const unknown = { code: 10_008, message: "Unknown Message" };
    throw new DiscordAPIError(unknown, unknown.code, 404, method, route, { files: undefined, body: undefined });
  },
  async act() {},
  close() {},
});

async function replayed({ rest, events }: Replay): Promise<InboundMessage[]> {
  const host = new Host();
  const { signal } = host;
  const self = { id: "4200", name: "test_bot" };
  const bot = createBot(recorded(rest), { config: discordConfig.parse({}), host, signal, self });
  const messages: InboundMessage[] = [];
  for (const payload of events) {
    bot.places.learn(payload, self.id);
    const event = { name: payload.t, sequence: payload.s, payload };
    messages.push(...(await readEvent(event, { bot, session: "s", now: 0 })));
  }
  return messages;
}

const files = fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));

test.each(files)("%s becomes the messages that it should", async (name) => {
  const replay = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), "utf8")) as Replay;
  expect(await replayed(replay)).toEqual(replay.expected);
});
