import { expect, it } from "vitest";
import { emptyTimes, watchedLink } from "../../src/channels/link.ts";
import type { ChannelLink } from "../../src/types/channel.ts";
import { handClock, peer } from "../outbox/stage.ts";

const sent = async () => ({ kind: "sent", messageId: "1" }) as const;
const able: Required<ChannelLink> = {
  send: sent,
  edit: sent,
  remove: sent,
  grow: () => undefined,
  react: sent,
  find: sent,
  typing: async () => undefined,
  unanswered: async () => undefined,
  missedSince: async () => [],
  download: async () => ({ bytes: new Uint8Array() }),
  close: async () => undefined,
};

it("leaves a connection what it can do, and gives it nothing else", () => {
  const methods = (link: ChannelLink) => Object.keys(watchedLink(link, emptyTimes(), handClock())).toSorted();
  expect(methods(able)).toEqual(Object.keys(able).toSorted());
  expect(methods({ send: sent, close: able.close })).toEqual(["close", "send"]);
});

it("notes when something left, and not what did not", async () => {
  const times = emptyTimes();
  const clock = handClock();
  const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
  const refuses: ChannelLink = { ...able, send: async () => ({ kind: "refused", reason: "no" }) };
  await watchedLink(refuses, times, clock).send(peer("1"), part, { idempotencyKey: "a" });
  expect(times.outbound).toBeUndefined();
  await watchedLink(able, times, clock).send(peer("1"), part, { idempotencyKey: "b" });
  expect(times.outbound).toBe(clock.now());
});
