import https from "node:https";
import fs from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import type { Host, Platform, PlatformFile } from "../../../test/contracts/channel.ts";
import type { ChannelAdapter, ChannelHost } from "../../../src/types/chat/channel.ts";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import type { ChatNews, Peer } from "../../../src/types/chat/message.ts";
import { whatsapp } from "../index.ts";
import { userOf } from "../jid.ts";
import { DEVICE, GROUP, startFakeWhatsapp } from "./fake/fake-whatsapp.ts";
import type { Fault, FakeWhatsApp, Saying, Shown } from "./fake/fake-whatsapp.ts";

const FAULTS: Readonly<Record<Parameters<Platform["failSends"]>[0], Fault>> = {
  limited: { kind: "refuse", code: 429 },
  broken: { kind: "refuse", code: 503 },
  dropped: { kind: "drop" },
  lost: { kind: "lose" },
  forbidden: { kind: "refuse", code: 403 },
};
const where = { channel: whatsapp.id, account: DEFAULT_ACCOUNT };
const OLD_OWN = "3EB0AAAAAAAAAAAAAAAAAA";

/** WhatsApp's side of the contract, and the fake behind it. */
export async function whatsappPlatform(): Promise<Platform & { readonly fake: FakeWhatsApp; readonly folder: string }> {
  const fake = await startFakeWhatsapp();
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "whatsapp-"));
  await fake.link(folder);
  let closed = false;
  const config = { waWebSocketUrl: fake.url, mediaUrl: fake.mediaUrl };
  return {
    fake,
    folder,
    adapter: inFolder(folder, fake),
    config,
    wrongConfig: { ...config, notLinked: true },
    direct: { ...where, chat: { kind: "direct", id: "+4917012345" } },
    group: { ...where, chat: { kind: "group", id: GROUP, title: "Crew" } },
    say: (to, text, more = {}) => spoken(to, fake.say(contentOf(text, more), sayingOf(to))),
    shown: (peer) => of(fake, peer).map(({ text }) => text),
    failSends: (how, count) => fake.fail(FAULTS[how], count),
    failReceive: (count) => fake.drop(count),
    unacknowledged: () => fake.queue.length,
    saysWait: false,
    knowsKeys: true,
    ...people(fake),
    ...sights(fake),
    redeliver: () => fake.redeliver(),
    async close() {
      if (closed) return;
      closed = true;
      await fake.close();
      await fs.rm(folder, { recursive: true, force: true });
    },
  };
}

/** The keys of an account outlive a host of the tests. */
function inFolder(folder: string, fake: FakeWhatsApp): ChannelAdapter {
  return {
    ...(whatsapp as ChannelAdapter),
    async connect(config, host) {
      uploadsTo(fake);
      if (!(config as { notLinked?: boolean }).notLinked)
        (host as Host & { folder: ChannelHost["folder"] }).folder = async () => folder;
      return whatsapp.connect(config as Parameters<typeof whatsapp.connect>[0], host);
    },
  };
}

/** Baileys uploads over TLS alone; here its sockets lead to the fake in the clear. */
function uploadsTo(fake: FakeWhatsApp): void {
  https.globalAgent.createConnection = (() =>
    net.connect(fake.port, "127.0.0.1")) as typeof https.globalAgent.createConnection;
}

/** In groups the core's id of a message names its author as well. */
const spoken = (to: Peer, id: string): string => (to.chat.kind === "group" ? `${id}/4917012345@s.whatsapp.net` : id);
const sayingOf = (to: Peer): Saying => (to.chat.kind === "group" ? { group: to.chat.id } : {});

function contentOf(text: string, { naming, replyingToBot }: { naming?: boolean; replyingToBot?: boolean }) {
  const bot = DEVICE.jid.replace(":1", "");
  const body = naming ? `${text} @${userOf(bot)}` : text;
  const contextInfo = {
    ...(naming && { mentionedJid: [bot] }),
    ...(replyingToBot && { stanzaId: OLD_OWN, participant: bot, quotedMessage: { conversation: "before" } }),
  };
  return naming || replyingToBot ? { extendedTextMessage: { text: body, contextInfo } } : { conversation: body };
}

/** Somebody sends pictures with these captions as an album, as phones do. Gives the announcement's id. */
export function sayAlbum(fake: FakeWhatsApp, captions: readonly string[], how: Saying = {}): string {
  const id = fake.say({ albumMessage: { expectedImageCount: captions.length } }, how);
  for (const caption of captions) fake.say(albumPart(fake, id, caption), how);
  return id;
}

/** A picture of an album. */
export function albumPart(fake: FakeWhatsApp, album: string, caption: string) {
  const image = { ...fake.sealFile(Buffer.from(`picture ${caption}`), "Image"), mimetype: "image/jpeg", caption };
  const parentMessageKey = { id: album, fromMe: true, remoteJid: DEVICE.jid };
  const messageContextInfo = { messageAssociation: { associationType: 1, parentMessageKey } };
  return { associatedChildMessage: { message: { imageMessage: image, messageContextInfo } } };
}

const of = (fake: FakeWhatsApp, peer: Peer): readonly Shown[] =>
  fake.shown.filter(({ chat }) => chat === (peer.chat.kind === "group" ? peer.chat.id : userOf(peer.chat.id.slice(1))));

const INFOS = {
  image: "Image",
  sticker: "Image",
  voice: "Audio",
  audio: "Audio",
  video: "Video",
  document: "Document",
};

/** What people do beside writing. */
function people(fake: FakeWhatsApp): Pick<Platform, "change" | "react" | "news" | "attach" | "call"> {
  return {
    change(to, messageId, text) {
      const key = { id: messageId.split("/")[0]!, fromMe: true, remoteJid: DEVICE.jid };
      fake.say({ protocolMessage: { type: 14, key, editedMessage: { conversation: text } } }, sayingOf(to));
    },
    react(to, messageId, emoji, how = {}) {
      // From where the sender sits, the bot's message is not theirs.
      const key = { id: messageId, fromMe: false, remoteJid: DEVICE.jid.replace(":1", "") };
      fake.say({ reactionMessage: { key, text: how.removed ? "" : emoji } }, sayingOf(to));
    },
    news: [
      () => {
        fake.changeGroup({ tag: "subject", attrs: { subject: "New crew" } });
        return { kind: "renamed", subject: "New crew" };
      },
      () => {
        const person = { tag: "participant", attrs: { jid: fake.bob.phone } };
        fake.changeGroup({ tag: "add", attrs: {}, content: [person] });
        return { kind: "joined", subject: `+${userOf(fake.bob.phone)}` };
      },
      () => {
        const said = fake.say({ conversation: "oops" }, { group: GROUP });
        const key = { id: said, fromMe: true, remoteJid: GROUP };
        fake.say({ protocolMessage: { type: 0, key } }, { group: GROUP });
        return { kind: "deleted", messageId: `${said}/4917012345@s.whatsapp.net` };
      },
      ...([1, 2] as const).map((type) => (): ChatNews => {
        const key = { id: "AC0123", fromMe: false, remoteJid: GROUP, participant: "4917099999@s.whatsapp.net" };
        fake.say({ pinInChatMessage: { key, type } }, { group: GROUP });
        return { kind: type === 1 ? "pinned" : "unpinned", messageId: "AC0123/4917099999@s.whatsapp.net" };
      }),
    ],
    attach: (to, text, file) => spoken(to, fake.say({ imageMessage: picture(fake, text, file) }, sayingOf(to))),
    call(to, rest, file) {
      const bot = DEVICE.jid.replace(":1", "");
      const text = `@${userOf(bot)}${rest}`;
      const contextInfo = { mentionedJid: [bot] };
      const content = file
        ? { imageMessage: { ...picture(fake, text, file), contextInfo } }
        : { extendedTextMessage: { text, contextInfo } };
      fake.say(content, sayingOf(to));
    },
  };
}

const picture = (fake: FakeWhatsApp, caption: string, { bytes, kind, mime }: PlatformFile) => ({
  ...fake.sealFile(bytes, INFOS[kind]),
  mimetype: mime ?? "application/octet-stream",
  caption,
});

/** What people see beside texts. */
function sights(fake: FakeWhatsApp): Pick<Platform, "typed" | "reactions" | "answers" | "files" | "albums"> {
  return {
    typed: (peer) => fake.typed(peer.chat.id.replace("+", "")),
    reactions: (_peer, messageId) =>
      [fake.reactions.get(messageId.split("/")[0]!)].filter((emoji) => emoji !== undefined),
    answers: (peer) => of(fake, peer).map(({ quoted }) => quoted),
    albums: (peer) => of(fake, peer).flatMap(({ content }) => (content.imageMessage ? 1 : [])),
    files: (peer) =>
      of(fake, peer).flatMap(({ content, text }) => {
        const image = content.imageMessage;
        if (!image) return [];
        return [
          { kind: "image" as const, bytes: fake.openUpload(image, "Image"), ...(text !== "" && { caption: text }) },
        ];
      }),
  };
}
