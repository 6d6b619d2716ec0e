import fs from "node:fs";
import { createRequire } from "node:module";
import { afterEach, describe, expect, test } from "vitest";
import type { WAMessageContent } from "@whiskeysockets/baileys";
import { Host, start, stopAll, text } from "../../../test/contracts/channel.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import { unwrap } from "../inbound/content.ts";
import { readMessage } from "../inbound/inbound.ts";
import { GROUP } from "./fake/fake-whatsapp.ts";
import { whatsappPlatform } from "./platform.ts";

afterEach(stopAll);

const KEY = { idempotencyKey: "reply-1" };

async function begin(host = new Host()) {
  const platform = await whatsappPlatform();
  return { ...(await start(platform, host)), platform, fake: platform.fake };
}

/** The parts that the protocol knows: fields of `Message` in the library's own definition. */
function partsOfMessages(): readonly string[] {
  const file = createRequire(import.meta.url).resolve("@whiskeysockets/baileys/WAProto/WAProto.proto");
  const [, body = ""] =
    /^message Message \{\n([\s\S]*?)\n(?: {4}(?:message|enum) )/m.exec(fs.readFileSync(file, "utf8")) ?? [];
  return [...body.matchAll(/^ {4}optional (\w+) (\w+) = \d+;/gm)].flatMap(([, type, name]) =>
    type === "string" || name === undefined ? [] : [name],
  );
}

/** What leaves nothing for an agent on purpose. */
const SILENT =
  "senderKeyDistributionMessage fastRatchetKeySenderKeyDistributionMessage messageContextInfo protocolMessage reactionMessage " +
  "encReactionMessage encEventResponseMessage encCommentMessage secretEncryptedMessage pollUpdateMessage pinInChatMessage " +
  "keepInChatMessage albumMessage eventCoverImage pollCreationOptionImageMessage placeholderMessage stickerSyncRmrMessage " +
  "messageHistoryBundle messageHistoryNotice limitSharingMessage requestPhoneNumberMessage chat call callLogMesssage bcallMessage " +
  "scheduledCallEditMessage statusMentionMessage groupStatusMentionMessage groupStatusMessage groupStatusMessageV2 statusAddYours " +
  "statusNotificationMessage statusQuestionAnswerMessage statusQuotedMessage statusStickerInteractionMessage";

describe("kinds of messages", () => {
  const view = {
    account: DEFAULT_ACCOUNT,
    self: { jid: "4915550001:1@s.whatsapp.net", name: "Claw" },
    now: 0,
    ownChat: false,
    phones: new Map(),
    names: new Map(),
  };
  const read = (message: WAMessageContent) =>
    readMessage({ key: { remoteJid: "4917012345@s.whatsapp.net", id: "3A" }, message }, view);
  const kinds = partsOfMessages().filter((name) => !SILENT.split(" ").includes(name));

  test("are those of the protocol", () => {
    expect(kinds).toEqual(expect.arrayContaining(["imageMessage", "orderMessage", "pollCreationMessageV5"]));
  });

  test.each(kinds)("none is left out without a word: %s", (name) => {
    const message: WAMessageContent = JSON.parse(`{ "${name}": {} }`);
    expect(read(message)).toBeDefined();
    // A wrapper is opened. Its inside is what counts.
    const wrapped: WAMessageContent = JSON.parse(`{ "${name}": { "message": { "conversation": "inside" } } }`);
    if (unwrap(wrapped).conversation) expect(read(wrapped)).toMatchObject({ text: "inside" });
    // Every kind may mention people and answer a message.
    const context = { contextInfo: { isForwarded: true } };
    if (!unwrap(wrapped).conversation) {
      const given: WAMessageContent = { ...message, [name]: context };
      expect(read(given)).toMatchObject({ context: { isForwarded: true } });
    }
  });

  test("one that cannot be read is logged", async () => {
    const { fake, host } = await begin();
    fake.say({ newsletterAdminInviteMessage: { newsletterName: "News" } });
    await host.until(() => host.received.length === 1);
    expect(host.received[0]?.untrusted).toEqual(["Unsupported message: newsletter admin invite"]);
    expect(host.lines.join("\n")).toContain('"kind":"newsletter admin invite"');
  });
});

test("the picture that a message answers is fetched, in a group too", async () => {
  const { fake, host, link } = await begin();
  const bytes = Buffer.from("a picture, longer than one block of the cipher");
  const quotedMessage = { imageMessage: { ...fake.sealFile(bytes, "Image"), mimetype: "image/jpeg" } };
  const contextInfo = { stanzaId: "3AQ", participant: fake.bob.phone, quotedMessage, mentionedJid: ["900900@lid"] };
  fake.say({ extendedTextMessage: { text: "@900900 what is this?", contextInfo } }, { group: GROUP });
  const { replyTo, mentionsBot } = await host.heard("what is this?");
  expect(mentionsBot).toBe(true);
  const [picture] = replyTo?.media ?? [];
  expect(picture).toMatchObject({ kind: "image", mime: "image/jpeg" });
  expect(Buffer.from((await link.download!(picture!)).bytes)).toEqual(bytes);
});

describe("disappearing messages", () => {
  const timed = (words: string, expiration: number) => ({
    extendedTextMessage: { text: words, contextInfo: { expiration } },
  });

  test.each(["direct", "group"] as const)(
    "an answer keeps the chat's timer, after a restart too (%s)",
    async (kind) => {
      const { fake, host, link, platform } = await begin();
      const how = kind === "group" ? { group: GROUP } : {};
      const timers = () =>
        fake.shown.map(({ content }) => {
          const { extendedTextMessage, pollCreationMessageV3 } = content;
          return (extendedTextMessage ?? pollCreationMessageV3)?.contextInfo?.expiration ?? undefined;
        });
      fake.say(timed("a secret", 86_400), how);
      expect((await host.heard("a secret")).untrusted).toEqual(["Disappears after 86400 s"]);
      await link.send(platform[kind], text("yes"), KEY);
      expect(timers()).toEqual([86_400]);
      await link.close();

      const next = new Host(host);
      const { link: again } = await start(platform, next);
      await again.send(platform[kind], text("still"), { idempotencyKey: "2" });
      await again.actions?.poll?.(platform[kind], { question: "Lunch?", options: ["yes", "no"], isMulti: false });
      expect(timers()).toEqual([86_400, 86_400, 86_400]);
      fake.say(kind === "group" ? timed("no secret", 0) : { conversation: "no secret" }, how);
      await next.heard("no secret");
      await again.send(platform[kind], text("so"), { idempotencyKey: "3" });
      expect(timers().at(-1)).toBeUndefined();
    },
  );

  test("a change of the timer counts without a message", async () => {
    const { fake, host, link, platform } = await begin();
    fake.say({ protocolMessage: { type: 3, ephemeralExpiration: 604_800 } });
    fake.say({
      reactionMessage: { key: { id: "3A", fromMe: false, remoteJid: "4915550001@s.whatsapp.net" }, text: "👍" },
    });
    await host.until(() => host.received.length === 1);
    await link.send(platform.direct, text("yes"), KEY);
    expect(fake.shown[0]?.content.extendedTextMessage?.contextInfo?.expiration).toBe(604_800);
  });
});
