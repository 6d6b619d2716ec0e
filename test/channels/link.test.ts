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
  const methods = (link: ChannelLink) => {
    const watched = watchedLink(link, emptyTimes(), handClock());
    return Object.keys(able).filter((name) => name in watched && Reflect.get(watched, name) !== undefined);
  };
  expect(methods(able)).toEqual(Object.keys(able));
  expect(methods({ send: sent, close: able.close }).toSorted()).toEqual(["close", "send"]);
});

it("leaves a connection what a later version of its type can do, with what it keeps to itself", async () => {
  class Later implements ChannelLink {
    readonly #platform = "toy";
    send = sent;
    async close() {}
    async pin(messageId: string) {
      return `${this.#platform} pinned ${messageId}`;
    }
  }
  const later = new Later();
  const watched: ChannelLink & Partial<Pick<Later, "pin">> = watchedLink(later, emptyTimes(), handClock());
  expect(await watched.pin?.("7")).toBe("toy pinned 7");
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
