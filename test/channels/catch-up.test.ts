import { afterEach, expect, test } from "vitest";
import { startChannels, type Channels } from "../../src/channels/channels.ts";
import type { KeyValue } from "../../src/types/journal.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { memoryValues } from "../kit/store/memory-values.ts";
import { message } from "../kit/inbound.ts";
import { silent, TestClock, Toy } from "../kit/toy-channel.ts";

const MINUTE = 60_000;
const open: Channels[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((channels) => channels.close()));
});

/** A platform that is asked for missed messages. */
function stage(values: KeyValue, clock = new TestClock()) {
  const toy = new Toy();
  const asked: number[] = [];
  const received: string[] = [];
  let answer: () => Promise<readonly InboundMessage[]> = async () => [];
  toy.link = {
    ...toy.link,
    missedSince: async (since) => {
      asked.push(since);
      return answer();
    },
  };
  const channels = startChannels({
    adapters: [toy.account()],
    receive: async (messages) => void received.push(...messages.map(({ text }) => text)),
    media: { read: async () => new Uint8Array() },
    values,
    log: silent,
    clock,
  });
  open.push(channels);
  return { toy, clock, asked, received, channels, answer: (next: typeof answer) => void (answer = next) };
}

const alive = { kind: "alive" } as const;
const trouble = { kind: "trouble", reason: "no network" } as const;

test("a first start that is killed while it connects loses no messages", async () => {
  const values = memoryValues();
  const first = stage(values);
  await first.clock.pass(0);
  const second = stage(values, first.clock);
  second.answer(async () => [message({ text: "said in between" })]);
  await second.clock.pass(1);
  expect(second.received).toEqual(["said in between"]);
});

test("a first start asks for no messages, a later one asks for the missed ones", async () => {
  const values = memoryValues();
  const first = stage(values);
  await first.clock.pass(1);
  first.toy.host.report(alive);
  await first.clock.pass(2.5 * MINUTE);
  first.toy.host.report(alive);
  await first.clock.pass(0.5 * MINUTE);
  expect(first.asked).toEqual([]);
  await first.channels.close();
  const heardUntil = first.clock.now();
  await first.clock.pass(60 * MINUTE);
  const second = stage(values, first.clock);
  second.answer(async () => [message({ text: "missed" })]);
  await second.clock.pass(1);
  expect(second.received).toEqual(["missed"]);
  expect(second.asked).toHaveLength(1);
  expect(heardUntil - second.asked[0]!).toBeGreaterThanOrEqual(2 * MINUTE);
  expect(heardUntil - second.asked[0]!).toBeLessThan(3 * MINUTE);
});

test("after trouble the platform is asked again, and live messages wait for older ones", async () => {
  const { toy, clock, asked, received, answer } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  await clock.pass(MINUTE);
  toy.host.report(trouble);
  await clock.pass(2 * MINUTE);
  const { promise, resolve } = Promise.withResolvers<readonly InboundMessage[]>();
  answer(async () => promise);
  toy.host.report(alive);
  const live = toy.host.receive([message({ text: "live" })]);
  await clock.pass(1);
  expect(received).toEqual([]);
  resolve([message({ text: "older" })]);
  await live;
  expect(received).toEqual(["older", "live"]);
  expect(asked).toHaveLength(1);
});

test("a failed request is repeated for the same period", async () => {
  const { toy, clock, asked, received, answer } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  await clock.pass(MINUTE);
  toy.host.report(trouble);
  answer(async () => Promise.reject(new Error("503")));
  toy.host.report(alive);
  await clock.pass(MINUTE);
  expect(asked.length).toBeGreaterThan(1);
  expect(new Set(asked).size).toBe(1);
  answer(async () => [message({ text: "found" })]);
  await clock.pass(MINUTE);
  expect(received).toEqual(["found"]);
});

test("messages of a silent period are requested although the adapter reported no trouble", async () => {
  const { toy, clock, asked } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  await clock.pass(MINUTE);
  toy.host.report(alive);
  const lastSign = clock.now();
  await clock.pass(4 * MINUTE);
  toy.host.report(trouble);
  toy.host.report(alive);
  await clock.pass(1);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toBeLessThan(lastSign);
});

test("a link that is reopened after a stall asks for messages since its last sign of life", async () => {
  const { toy, clock, asked } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  const lastSign = clock.now();
  await clock.pass(6 * MINUTE);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toBeLessThan(lastSign);
});

test("an outage that ends during the request for an earlier one is requested too", async () => {
  const { toy, clock, asked, received, answer } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  const first = Promise.withResolvers<readonly InboundMessage[]>();
  answer(async () => first.promise);
  toy.host.report(trouble);
  toy.host.report(alive);
  await clock.pass(1);
  toy.host.report(trouble);
  toy.host.report(alive);
  answer(async () => [message({ text: "of the second gap" })]);
  first.resolve([]);
  await clock.pass(MINUTE);
  expect(received).toEqual(["of the second gap"]);
  expect(asked).toHaveLength(2);
});

test("after an outage of days the last day is requested, and the earlier days are reported", async () => {
  const values = memoryValues();
  const first = stage(values);
  const left = first.clock.now();
  await first.clock.pass(1);
  await first.channels.close();
  await first.clock.pass(72 * 60 * MINUTE);
  const { channels, asked, clock } = stage(values, first.clock);
  expect(channels.status()[0]?.unasked).toBeUndefined();
  const until = clock.now() - 24 * 60 * MINUTE;
  await clock.pass(1);
  expect(asked).toEqual([until]);
  expect(channels.status()[0]?.unasked).toEqual({ from: left, until });
});

test("live messages wait no longer than a minute", async () => {
  const { toy, clock, received, answer } = stage(memoryValues());
  await clock.pass(1);
  toy.host.report(alive);
  toy.host.report(trouble);
  answer(async () => new Promise(() => undefined));
  toy.host.report(alive);
  void toy.host.receive([message({ text: "live" })]);
  await clock.pass(59_000);
  expect(received).toEqual([]);
  await clock.pass(2000);
  expect(received).toEqual(["live"]);
});

test("notes are kept per account", async () => {
  const values = memoryValues();
  const { toy, clock } = stage(values);
  await clock.pass(1);
  await toy.host.notes.set("cursor", "5");
  expect(await toy.host.notes.get("cursor")).toBe("5");
  expect(await values.get("channel:toy:default:cursor")).toBe("5");
});
