import { expect, it } from "vitest";
import { watchedLink } from "../../src/channels/connection/link.ts";
import type { ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import { peer } from "../outbox/stage.ts";

const sent = async () => ({ kind: "sent", messageId: "1" }) as const;
const able: Required<ChannelLink> = {
  send: sent,
  edit: sent,
  remove: sent,
  stream: () => undefined,
  react: sent,
  find: sent,
  typing: async () => undefined,
  commandForm: () => ({ prefix: "/" }),
  clearPending: async () => undefined,
  missedSince: async () => [],
  download: async () => ({ bytes: new Uint8Array() }),
  close: async () => undefined,
};

const unheard = { sent: () => undefined, refused: () => undefined };

it("leaves a connection what it can do, and gives it nothing else", () => {
  const methods = (link: ChannelLink) => {
    const watched = watchedLink(link, unheard);
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
  const watched: ChannelLink & Partial<Pick<Later, "pin">> = watchedLink(later, unheard);
  expect(await watched.pin?.("7")).toBe("toy pinned 7");
});

it("tells what left, what was not taken, and that the platform refuses the account", async () => {
  const heard: string[] = [];
  const watch = {
    sent: () => void heard.push("sent"),
    refused: (...words: string[]) => void heard.push(words.join(" ")),
  };
  const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
  const says = (result: SendResult) =>
    watchedLink({ ...able, send: async () => result, edit: async () => result }, watch);
  const send = (link: ChannelLink) => link.send(peer("1"), part, { idempotencyKey: "a" });

  await send(says({ kind: "refused", reason: "no" }));
  await send(says({ kind: "retry", reason: "busy" }));
  expect(heard).toEqual([]);
  await send(says({ kind: "sent", messageId: "1" }));
  expect(heard).toEqual(["sent"]);
  const revoked = says({ kind: "retry", reason: "Token revoked.", fix: "Get another." });
  await send(revoked);
  await revoked.edit?.(peer("1"), "1", part);
  expect(heard.slice(1)).toEqual(["Token revoked. Get another.", "Token revoked. Get another."]);
});
