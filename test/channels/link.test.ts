import { expect, it } from "vitest";
import { capabilitiesIn, watchedLink } from "../../src/channels/connection/link.ts";
import type { ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import { peer } from "../kit/inbound.ts";

const sent = async () => ({ kind: "sent", messageId: "1" }) as const;
const able: Required<ChannelLink> = {
  send: sent,
  edit: sent,
  remove: sent,
  actions: { poll: sent, pin: sent },
  chatId: async () => "1",
  stream: () => undefined,
  react: sent,
  find: sent,
  typing: async () => undefined,
  endTyping: async () => undefined,
  commandForm: () => ({ prefix: "/" }),
  clearPending: async () => undefined,
  missedSince: async () => [],
  download: async () => ({ bytes: new Uint8Array() }),
  close: async () => undefined,
};

const unwatched = { sent: () => undefined, refused: () => undefined };

const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
const revoked = async () => ({ kind: "retry", reason: "Token revoked.", fix: "Get another." }) as const;

/** A link of a later version of the contract: `pin` is a capability that no code here names. */
class LaterLink implements ChannelLink {
  readonly #platform = "toy";
  send = sent;
  async close() {}
  async pin(messageId: string): Promise<SendResult> {
    return messageId === "7" ? { kind: "sent", messageId: `${this.#platform} 7` } : revoked();
  }
}

function watch() {
  const calls: string[] = [];
  return {
    calls,
    sent: () => void calls.push("sent"),
    refused: (...texts: string[]) => void calls.push(texts.join(" ")),
  };
}

it("a watched link has the methods of the link and no others", () => {
  const methods = (link: ChannelLink) => {
    const watched = watchedLink(link, unwatched);
    return Object.keys(able).filter((name) => name in watched && Reflect.get(watched, name) !== undefined);
  };
  expect(methods(able)).toEqual(Object.keys(able));
  expect(methods({ send: sent, close: able.close }).toSorted()).toEqual(["close", "send"]);
});

it("a capability that a later contract adds is forwarded, watched and listed", async () => {
  const watching = watch();
  const later: ChannelLink & Partial<Pick<LaterLink, "pin">> = watchedLink(new LaterLink(), watching);
  expect(await later.pin?.("7")).toEqual({ kind: "sent", messageId: "toy 7" });
  expect(watching.calls).toEqual([]);
  await later.pin?.("8");
  expect(watching.calls).toEqual(["Token revoked. Get another."]);
  expect(capabilitiesIn(later)).toEqual(["pin"]);
});

it("lists the optional methods that a link has, but not those of no interest to people", () => {
  expect(capabilitiesIn(able)).toEqual(
    ["edit", "remove", "stream", "react", "find", "typing", "missedSince", "download", "poll", "pin"].toSorted(),
  );
});

it("reports each message that the platform took, and no other result of a send", async () => {
  const watching = watch();
  const send = (result: SendResult) =>
    watchedLink({ ...able, send: async () => result }, watching).send(peer("1"), part, { idempotencyKey: "a" });
  await send({ kind: "refused", reason: "no" });
  await send({ kind: "retry", reason: "busy" });
  expect(watching.calls).toEqual([]);
  await send({ kind: "sent", messageId: "1" });
  expect(watching.calls).toEqual(["sent"]);
});

it("reports a refusal of the account whichever call meets it", async () => {
  const watching = watch();
  const stream = { isMessage: false, keepAliveMs: 1000, show: revoked, keepAlive: sent };
  const actions = { pin: revoked };
  const refusing = {
    ...able,
    send: revoked,
    edit: revoked,
    remove: revoked,
    react: revoked,
    stream: () => stream,
    actions,
  };
  const link = watchedLink(refusing, watching);
  await link.send(peer("1"), part, { idempotencyKey: "a" });
  await link.edit?.(peer("1"), "1", part);
  await link.remove?.(peer("1"), "1");
  await link.react?.(peer("1"), "1", "👍");
  await link.stream?.(peer("1"), { key: "a" })?.show(part, "x");
  await link.actions?.pin?.(peer("1"), "1", true);
  expect(watching.calls).toEqual(Array(6).fill("Token revoked. Get another."));
});
