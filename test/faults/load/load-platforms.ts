import { startFakeDiscord } from "../../../extensions/discord/test/fake-discord.ts";
import { ADA } from "../../../extensions/discord/test/fake-world.ts";
import { startFakeSlack } from "../../../extensions/slack/test/fake-slack.ts";
import { sender, SELF, startFakeSignal } from "../../../extensions/signal/test/fake-signal.ts";
import { userOf } from "../../../extensions/whatsapp/jid.ts";
import type { Fault as WhatsAppFault } from "../../../extensions/whatsapp/test/fake/fake-whatsapp.ts";
import { Person } from "../../../extensions/whatsapp/test/fake/person.ts";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { watchPushes } from "../platforms/platform.ts";
import { wiredWhatsapp } from "../platforms/whatsapp.ts";
import { openRelay, type Relay } from "../../kit/tcp-relay.ts";

export const FAULTS = ["limited", "broken", "dropped", "lost"] as const;
export type Fault = (typeof FAULTS)[number];

type Slow = () => number;
export type OpenLoaded = (slow: Slow) => Promise<LoadedPlatform>;

/** A platform with many people in it, each in a chat of their own. */
export interface LoadedPlatform {
  readonly id: string;
  readonly channel: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Before the first start. */
  prepare?(stateDir: string): Promise<void>;
  readonly wire: Relay;
  say(person: number, text: string): void;
  shown(person: number): readonly string[];
  /** What happens to the next message that the gateway sends. */
  fail(fault: Fault): void;
  onShown(listener: (text: string) => void): void;
  close(): Promise<void>;
}

export async function loadedTelegram(slow: Slow): Promise<LoadedPlatform> {
  const fake = await startFakeTelegram();
  const wire = await openRelay(Number(new URL(fake.url).port), slow);
  const modes = { limited: "429", broken: "500", dropped: "drop", lost: "lost" } as const;
  return {
    id: "telegram",
    channel: { botToken: fake.token, apiRoot: `http://127.0.0.1:${wire.port}` },
    wire,
    say: (person, text) => void fake.say(text, { from: { id: 1000 + person } }),
    shown: (person) => fake.shown(1000 + person),
    fail: (fault) => fake.fail("sendMessage", modes[fault]),
    onShown: (listener) => watchPushes(fake.sent, ({ text, ok }) => ok && text !== "" && listener(text)),
    close: () => closeBoth(wire, fake),
  };
}

export async function loadedSlack(slow: Slow): Promise<LoadedPlatform> {
  const fake = await startFakeSlack();
  const wire = await openRelay(Number(new URL(fake.url).port), slow);
  fake.entrance = wire.port;
  const modes = { limited: "429", broken: "500", dropped: "drop", lost: "lost" } as const;
  const isOwn = ({ user }: { readonly user: string }) => user === fake.self.userId;
  return {
    id: "slack",
    channel: { botToken: fake.botToken, appToken: fake.appToken, apiUrl: `http://127.0.0.1:${wire.port}/api/` },
    wire,
    say: (person, text) => void fake.say(`D${1000 + person}`, text, { user: `U${1000 + person}` }),
    shown: (person) =>
      fake.messages.filter((one) => isOwn(one) && one.channel === `D${1000 + person}`).map(({ text }) => text),
    fail: (fault) => fake.fail("chat.postMessage", modes[fault]),
    onShown: (listener) => watchPushes(fake.messages, (one) => isOwn(one) && listener(one.text)),
    close: () => closeBoth(wire, fake),
  };
}

export async function loadedSignal(slow: Slow): Promise<LoadedPlatform> {
  const fake = await startFakeSignal({ accounts: [{ number: SELF.number, aci: SELF.uuid }] });
  const wire = await openRelay(Number(new URL(fake.url).port), slow);
  const modes = { limited: "limited", broken: "500", dropped: "drop", lost: "lost" } as const;
  const idOf = (person: number) => `22222222-2222-4222-8222-${String(person).padStart(12, "0")}`;
  return {
    id: "signal",
    channel: { httpUrl: `http://127.0.0.1:${wire.port}` },
    wire,
    say(person, text) {
      const number = `+1556${String(person).padStart(7, "0")}`;
      const about = sender(0, { number, uuid: idOf(person), name: `Person ${person}` });
      const { timestamp: _none, serverReceivedTimestamp: _got, serverDeliveredTimestamp: _gave, ...from } = about;
      fake.say(text, {}, from);
    },
    shown: (person) => fake.shown(idOf(person)),
    fail: (fault) => fake.fail("send", modes[fault]),
    onShown: (listener) => watchPushes(fake.messages, ({ text }) => listener(text)),
    close: () => closeBoth(wire, fake),
  };
}

export async function loadedDiscord(slow: Slow): Promise<LoadedPlatform> {
  const fake = await startFakeDiscord();
  const wire = await openRelay(Number(new URL(fake.config.cdnUrl).port), slow);
  const url = `http://127.0.0.1:${wire.port}`;
  // The address of the gateway is told by the REST API.
  fake.world.url = url;
  const chatOf = (person: number) => {
    fake.world.people.add(String(1000 + person));
    return fake.world.direct(String(1000 + person));
  };
  const modes = { limited: "429", broken: "500", dropped: "drop", lost: "lost" } as const;
  return {
    id: "discord",
    channel: { token: fake.token, apiUrl: `${url}/api`, cdnUrl: url },
    wire,
    say: (person, text) => void fake.say(chatOf(person), text, { from: { ...ADA, id: String(1000 + person) } }),
    shown: (person) => fake.shown(chatOf(person)),
    fail: (fault) => fake.fail(modes[fault]),
    onShown: (listener) =>
      fake.tap(({ stage, method, path, text }) => {
        if (stage === "done" && method === "POST" && path.endsWith("/messages")) listener(text);
      }),
    close: () => closeBoth(wire, fake),
  };
}

export async function loadedWhatsapp(slow: Slow): Promise<LoadedPlatform> {
  const { fake, wire, start } = await wiredWhatsapp(slow);
  const phoneOf = (person: number) => `4916${String(person).padStart(8, "0")}@s.whatsapp.net`;
  const meet = (person: number) => {
    const known = fake.directory.find(phoneOf(person));
    const met = known ?? new Person(phoneOf(person), `77${person}@lid`, `Person ${person}`);
    if (!known) fake.directory.add(met);
    return met;
  };
  let losses = 0;
  const failing: Readonly<Record<Fault, () => WhatsAppFault>> = {
    limited: () => ({ kind: "refuse", code: 429 }),
    broken: () => ({ kind: "refuse", code: 503 }),
    dropped: () => ({ kind: "drop" }),
    // An answer is lost with its connection, or alone.
    lost: () => ({ kind: (losses += 1) % 2 === 1 ? "lose" : "mute" }),
  };
  return {
    ...start,
    wire,
    say: (person, text) => void fake.say({ conversation: text }, { by: meet(person) }),
    shown: (person) => fake.shown.filter(({ chat }) => chat === userOf(phoneOf(person))).map(({ text }) => text),
    fail: (fault) => fake.fail(failing[fault]()),
    onShown: (listener) => watchPushes(fake.shown, ({ text }) => listener(text)),
    close: () => closeBoth(wire, fake),
  };
}

async function closeBoth(wire: Relay, fake: { close(): Promise<void> }): Promise<void> {
  await wire.close();
  await fake.close();
}
