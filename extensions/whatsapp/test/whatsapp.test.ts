import fs from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { proto } from "@whiskeysockets/baileys";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Host, start, stopAll, text } from "../../../test/contracts/channel.ts";
import { mediaId } from "../../../src/types/ids.ts";
import { isOwnId, ownId } from "../jid.ts";
import { GROUP } from "./fake/fake-whatsapp.ts";
import { Person } from "./fake/person.ts";
import { whatsappPlatform } from "./platform.ts";
import { untilIdle } from "../../../test/kit/idle.ts";

afterEach(async () => {
  await stopAll();
  vi.useRealTimers();
});

const KEY = { idempotencyKey: "reply-1" };

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await whatsappPlatform();
  const running = await start(platform, host, config);
  return { ...running, platform, fake: platform.fake };
}

const reportsOf = (host: Host, kind: string) => host.reports.filter((report) => report.kind === kind);

describe("taking messages", () => {
  test("a message is receipted only after it is stored", async () => {
    const host = new Host();
    const { fake } = await begin({}, host);
    const seen: number[] = [];
    const store = host.receive.bind(host);
    host.receive = async (messages) => {
      // A receipt that does not wait for the storing would be there by then.
      await untilIdle();
      seen.push(fake.queue.length);
      await store(messages);
    };
    fake.say({ conversation: "first" });
    fake.say({ conversation: "second" });
    await host.heard("second");
    expect(seen).toEqual([2, 1]);
    await expect.poll(() => fake.queue.length).toBe(0);
  });

  test("a conversation continues when the answer is sent while its message is being received", async () => {
    const host = new Host();
    const { fake, platform, link } = await begin({}, host);
    const store = host.receive.bind(host);
    const answers: Promise<unknown>[] = [];
    host.receive = async (messages) => {
      await store(messages);
      const [said = ""] = messages.map((message) => message.text);
      // By then the transaction in which the message was opened is over.
      answers.push(untilIdle().then(() => link.send(platform.direct, text(`${said}, too`), { idempotencyKey: said })));
    };
    for (const word of ["one", "two", "three"]) {
      fake.say({ conversation: word });
      await expect.poll(() => platform.shown(platform.direct)).toContain(`${word}, too`);
    }
    await Promise.all(answers);
    expect(host.received.map((message) => message.text)).toEqual(["one", "two", "three"]);
    expect(fake.refusedByClient).toEqual([]);
  });

  test("what is written while a message is being received does not undo its keys, nor the other way round", async () => {
    const host = new Host();
    const { fake, platform, link } = await begin({}, host);
    const say = (word: string) => link.send(platform.direct, text(word), { idempotencyKey: word });
    fake.say({ conversation: "hello" });
    await host.heard("hello");
    await say("one");
    fake.say({ conversation: "and again" });
    await host.heard("and again");
    await expect.poll(() => fake.queue.length).toBe(0);
    const store = host.receive.bind(host);
    const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    host.receive = async (messages) => {
      began.resolve();
      await gate.promise;
      await store(messages);
    };
    fake.say({ conversation: "slowly" });
    await began.promise;
    await say("two");
    gate.resolve();
    await host.heard("slowly");
    await expect.poll(() => fake.queue.length).toBe(0);
    await say("three");
    fake.say({ conversation: "at last" });
    await host.heard("at last");
    await say("four");
    expect(platform.shown(platform.direct)).toEqual(["one", "two", "three", "four"]);
    expect([fake.passedOver, fake.unopened, fake.refusedByClient]).toEqual([[], [], []]);
  });

  test.each(["direct", "group"] as const)(
    "what was sealed for keys that are lost is asked for again, with new keys, and read once (%s)",
    async (kind) => {
      const { fake, platform, link, host } = await begin();
      const how = kind === "group" ? { group: GROUP } : {};
      fake.say({ conversation: "before" }, how);
      await host.heard("before");
      await link.send(platform[kind], text("yes"), KEY);
      await link.close();
      const db = new DatabaseSync(path.join(platform.folder, "auth.sqlite"));
      db.exec("DELETE FROM keys WHERE type IN ('session', 'sender-key')");
      db.close();
      const id = fake.say({ conversation: "after" }, how);
      const again = new Host();
      await start(platform, again);
      await again.heard("after");
      await expect.poll(() => fake.queue.length).toBe(0);
      expect(again.received.map((message) => message.text)).toEqual(["after"]);
      expect(fake.unopened).toEqual([id, id]);
      fake.say({ conversation: "later" }, how);
      await again.heard("later");
      expect(fake.unopened).toEqual([id, id]);
    },
  );

  test("what was stored and comes again, since its receipt was lost, is receipted and not asked for", async () => {
    const host = new Host();
    const { fake, platform, link } = await begin({}, host);
    fake.say({ conversation: "first" });
    await host.heard("first");
    fake.redeliver();
    await link.send(platform.direct, text("yes"), KEY);
    fake.say({ conversation: "second" });
    await host.heard("second");
    fake.redeliver();
    fake.say({ conversation: "third" });
    await host.heard("third");
    await expect.poll(() => fake.queue.length).toBe(0);
    expect(host.received.map((message) => message.text)).toEqual(["first", "second", "third"]);
    expect(fake.unopened).toEqual([]);
    expect(fake.refusedByClient).toEqual([]);
  });

  test("a copy that our phone gives is stored before it is receipted; nobody else's copies count", async () => {
    const host = new Host();
    const { fake } = await begin({}, host);
    const copy = (id: string, conversation: string) => {
      const info = { key: { id, remoteJid: fake.ada.phone, fromMe: false }, message: { conversation } };
      const webMessageInfoBytes = proto.WebMessageInfo.encode(info).finish();
      const answer = { peerDataOperationResult: [{ placeholderMessageResendResponse: { webMessageInfoBytes } }] };
      const type = proto.Message.ProtocolMessage.Type.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE;
      return { protocolMessage: { type, peerDataOperationRequestResponseMessage: answer } };
    };
    const store = host.receive.bind(host);
    const waiting: number[] = [];
    host.receive = async (messages) => {
      waiting.push(fake.queue.length);
      await store(messages);
    };
    fake.withhold("ABCD");
    await expect.poll(() => fake.queue.length).toBe(0);
    fake.say(copy("FFFF", "made up"), { by: fake.bob });
    await fake.settled();
    await expect.poll(() => fake.queue.length).toBe(0);
    fake.say(copy("ABCD", "withheld"), { by: new Person("4915550001@s.whatsapp.net", "900900@lid", "Claw") });
    expect(await host.heard("withheld")).toMatchObject({ id: "ABCD", sender: { id: "+4917012345", name: "Ada" } });
    await expect.poll(() => fake.queue.length).toBe(0);
    expect(waiting).toEqual([1]);
    expect(host.received).toHaveLength(1);
  });

  test("a message that cannot be decrypted is logged; a repeated one is not", async () => {
    const host = new Host();
    const { fake } = await begin({}, host);
    fake.say({ conversation: "first" });
    await host.heard("first");
    fake.redeliver();
    fake.say({ conversation: "behind it" });
    await host.heard("behind it");
    expect(host.lines).toEqual([]);
    const eve = new Person("4917099999@s.whatsapp.net", "333333@lid", "Eve");
    eve.seal = async () => ({ type: "msg", bytes: Buffer.alloc(80, 51) });
    fake.say({ conversation: "lost" }, { by: eve });
    await expect.poll(() => host.lines.join("\n")).toContain("could not be decrypted");
  });

  test("a message that was stored when the connection went is not lost, and comes under the same key at most", async () => {
    const host = new Host();
    const { fake } = await begin({}, host);
    const store = host.receive.bind(host);
    let cuts = 1;
    host.receive = async (messages) => {
      await store(messages);
      if (cuts-- > 0) fake.drop();
    };
    fake.say({ conversation: "at the edge" });
    fake.say({ conversation: "behind it" });
    await host.heard("behind it");
    await expect.poll(() => fake.queue.length).toBe(0);
    expect(new Set(host.received.map(({ eventKey }) => eventKey)).size).toBe(2);
    expect(fake.unopened).toEqual([]);
  });

  test("people who write under their number are known by it", async () => {
    const { fake, host } = await begin();
    fake.say({ conversation: "from a number" });
    fake.say({ conversation: "from another" }, { by: fake.bob });
    expect((await host.heard("from a number")).sender.id).toBe("+4917012345");
    expect((await host.heard("from another")).sender.id).toBe("+4917067890");
  });

  test("people who write under a LID are known by their number", async () => {
    const { fake, host, platform } = await begin();
    fake.say({ conversation: "from a lid" }, { addressing: "lid" });
    const heard = await host.heard("from a lid");
    expect(heard.from).toEqual(platform.direct);
    expect(heard.sender).toEqual({ id: "+4917012345", name: "Ada", e164: "+4917012345" });
    fake.say({ conversation: "in the group" }, { addressing: "lid", group: GROUP, by: fake.bob });
    const other = await host.heard("in the group");
    expect(other.sender).toMatchObject({ e164: "+4917067890", name: "Bob" });
    expect(other.from.chat).toEqual({ kind: "group", id: GROUP, title: "Crew" });
  });

  test("mentions are readable, our own counts under both names", async () => {
    const { fake, host } = await begin();
    fake.say({ conversation: "I am Bob" }, { by: fake.bob });
    await host.heard("I am Bob");
    const mentionedJid = ["900900@lid", fake.bob.phone];
    const words = "@900900 ask @4917067890";
    fake.say({ extendedTextMessage: { text: words, contextInfo: { mentionedJid } } }, { group: GROUP });
    expect(await host.heard("ask")).toMatchObject({ text: "ask @Bob", mentionsBot: true });
    const asked = { text: "ask @900900 again", contextInfo: { mentionedJid } };
    fake.say({ extendedTextMessage: asked }, { group: GROUP });
    expect(await host.heard("again")).toMatchObject({ text: "ask @Claw again", mentionsBot: true });
  });

  test("events outside chats and our own messages are not received", async () => {
    const { fake, host } = await begin();
    fake.say({ protocolMessage: { type: 3, ephemeralExpiration: 60 } });
    fake.say({ senderKeyDistributionMessage: {} });
    fake.say({ conversation: "but this" });
    await host.heard("but this");
    expect(host.received).toHaveLength(1);
  });
});

describe("sending", () => {
  test("the id of a message is made of its key, and is known as ours again", async () => {
    const { link, platform, fake } = await begin();
    const sent = await link.send(platform.direct, text("hello"), KEY);
    if (sent.kind !== "sent") throw new Error("not sent");
    expect(isOwnId(sent.messageId)).toBe(true);
    expect(fake.shown.map(({ id }) => id)).toEqual([sent.messageId]);
    expect(await link.send(platform.direct, text("hello"), { idempotencyKey: "reply-2" })).not.toEqual(sent);
  });

  test("a chat is read when the gateway turns to it, and not before", async () => {
    const { link, platform, fake, host } = await begin();
    const id = fake.say({ conversation: "are you there" });
    await host.heard("are you there");
    await expect.poll(() => fake.queue.length).toBe(0);
    expect(fake.read).toEqual([]);
    await link.typing?.(platform.direct);
    await expect.poll(() => fake.read).toEqual([id]);
  });

  test("typing ends without an answer", async () => {
    const { link, platform, fake } = await begin();
    const chat = platform.direct.chat.id.replace("+", "");
    await link.typing?.(platform.direct);
    await link.endTyping?.(platform.direct);
    await expect.poll(() => [fake.typed(chat), fake.typed(chat, "paused")]).toEqual([1, 1]);
  });

  test("no read receipts where they are not wanted", async () => {
    const { link, platform, fake, host } = await begin({ sendReadReceipts: false });
    fake.say({ conversation: "are you there" });
    await host.heard("are you there");
    await link.send(platform.direct, text("yes"), KEY);
    expect(fake.read).toEqual([]);
  });

  test("in a group the quote, the mention and the reaction name their people", async () => {
    const { link, platform, fake, host } = await begin();
    fake.say({ conversation: "who knows" }, { group: GROUP });
    const { id } = await host.heard("who knows");
    const answer = { ...text("ask @+4917067890"), format: "whatsapp" as const };
    expect(await link.send(platform.group, answer, { ...KEY, replyTo: id })).toMatchObject({ kind: "sent" });
    const context = fake.shown[0]?.content.extendedTextMessage?.contextInfo;
    expect(fake.shown[0]?.text).toBe("ask @4917067890");
    expect(context).toMatchObject({
      participant: "4917012345@s.whatsapp.net",
      mentionedJid: ["4917067890@s.whatsapp.net"],
    });
    expect(context?.quotedMessage?.conversation).toBe("who knows");
    expect(await link.react?.(platform.group, id, "👍")).toEqual({ kind: "sent", messageId: id });
    expect(fake.reactions.get(id.split("/")[0]!)).toBe("👍");
  });

  test("a poll has its question, its answers, and how many may be chosen", async () => {
    const { link, platform, fake } = await begin();
    const poll = { question: "Lunch?", options: ["yes", "no"], isMulti: false };
    expect(await link.actions?.poll?.(platform.direct, poll)).toMatchObject({ kind: "sent" });
    expect(await link.actions?.poll?.(platform.direct, { ...poll, isMulti: true })).toMatchObject({ kind: "sent" });
    const polls = fake.shown.map(({ content }) => content.pollCreationMessageV3 ?? content.pollCreationMessage);
    const options = [{ optionName: "yes" }, { optionName: "no" }];
    expect(polls).toMatchObject([
      { name: "Lunch?", options, selectableOptionsCount: 1 },
      { name: "Lunch?", options, selectableOptionsCount: 2 },
    ]);
  });

  test("a quote shows no text of another chat", async () => {
    const { link, platform, fake, host } = await begin();
    fake.say({ conversation: "a secret of the group" }, { group: GROUP });
    const { id } = await host.heard("a secret of the group");
    await link.send(platform.direct, text("this"), { ...KEY, replyTo: id });
    expect(JSON.stringify(fake.shown[0])).not.toContain("secret");
  });

  test("a voice note is one, other sounds are not, and captions go before them", async () => {
    const host = new Host();
    const { link, platform, fake } = await begin({}, host);
    host.media.set("v1", new Uint8Array([1, 2, 3]));
    const source = { at: "store", id: mediaId("v1") } as const;
    const voice = { kind: "voice", mime: "audio/ogg", durationSeconds: 4.2, source } as const;
    await link.send(platform.direct, { kind: "media", media: voice, asVoice: true, caption: text("listen") }, KEY);
    const music = { kind: "audio", mime: "audio/mpeg", source } as const;
    await link.send(platform.direct, { kind: "media", media: music, asVoice: true }, { idempotencyKey: "2" });
    const [caption, note, song] = fake.shown;
    expect(caption?.text).toBe("listen");
    expect(note?.content.audioMessage).toMatchObject({ ptt: true, seconds: 4, mimetype: "audio/ogg; codecs=opus" });
    expect(song?.content.audioMessage).toMatchObject({ ptt: false, mimetype: "audio/mpeg" });
  });

  test("a device that could not open a message gets it again, after a restart too", async () => {
    const { link, platform, fake } = await begin();
    const sent = await link.send(platform.direct, text("say again"), KEY);
    if (sent.kind !== "sent") throw new Error("not sent");
    await link.close();
    await start(platform);
    fake.askAgain(sent.messageId);
    await expect.poll(() => fake.arrived).toEqual([sent.messageId, sent.messageId]);
    expect(platform.shown(platform.direct)).toEqual(["say again"]);
  });

  test.each(["direct", "group"] as const)("a phone that has lost its keys reads it in the end (%s)", async (kind) => {
    const { link, platform, fake, host } = await begin();
    await link.send(platform[kind], text("before"), KEY);
    fake.say({ conversation: "hello" });
    await host.heard("hello");
    await expect.poll(() => fake.queue.length).toBe(0);
    fake.ada.forget();
    await link.send(platform[kind], text("after"), { idempotencyKey: "2" });
    await expect.poll(() => platform.shown(platform[kind])).toEqual(["before", "after"]);
    await link.send(platform[kind], text("later"), { idempotencyKey: "3" });
    expect(platform.shown(platform[kind])).toEqual(["before", "after", "later"]);
    expect(fake.arrived).toHaveLength(4);
  });

  test("what was sent before a restart is changed for a quarter of an hour, and removed after it", async () => {
    const { link, platform } = await begin();
    vi.useFakeTimers({ toFake: ["Date"] });
    const sent = await link.send(platform.direct, text("half"), KEY);
    if (sent.kind !== "sent") throw new Error("not sent");
    vi.setSystemTime(Date.now() + 10 * 60_000);
    expect(await link.send(platform.direct, text("half"), KEY)).toEqual(sent);
    await link.close();
    const { link: next } = await start(platform);
    expect(await next.edit?.(platform.direct, sent.messageId, text("whole"))).toEqual(sent);
    vi.setSystemTime(Date.now() + 5 * 60_000);
    expect(await next.edit?.(platform.direct, sent.messageId, text("late"))).toMatchObject({ kind: "refused" });
    expect(platform.shown(platform.direct)).toEqual(["whole"]);
    expect(await next.remove?.(platform.direct, sent.messageId)).toEqual(sent);
    expect(platform.shown(platform.direct)).toEqual([]);
  });

  test("what is not ours, or older than anybody remembers, is not changed", async () => {
    const { link, platform } = await begin();
    for (const id of ["3EB0AAAAAAAAAAAAAAAAAA", ownId("of another year")]) {
      expect(await link.edit?.(platform.direct, id, text("too late"))).toMatchObject({ kind: "refused" });
    }
  });
});

describe("endings", () => {
  test("515 is answered with a new connection at once", async () => {
    const { host, fake } = await begin();
    host.reports.length = 0;
    fake.endStream(515);
    await host.until(() => reportsOf(host, "alive").length > 0);
    expect(reportsOf(host, "trouble")).toMatchObject([{ retryInMs: 0 }]);
    expect(fake.logins).toBe(2);
  });

  test("another program on the same link is left alone for a while", async () => {
    const { host, fake } = await begin();
    fake.endStream(440);
    await host.until(() => reportsOf(host, "trouble").length > 0);
    const [report] = reportsOf(host, "trouble");
    expect(report).toMatchObject({ reason: expect.stringContaining("another program") });
    expect(report?.kind === "trouble" && report.retryInMs).toBeGreaterThanOrEqual(30_000);
  });

  test("a logged-out device stops and says what to do", async () => {
    const { host, fake, link, platform } = await begin();
    fake.endStream(401);
    await host.until(() => reportsOf(host, "dead").length > 0);
    expect(reportsOf(host, "dead")).toEqual([
      { kind: "dead", reason: expect.stringContaining("logged out"), fix: expect.stringContaining("login") },
    ]);
    await link.close();
    const again = new Host();
    fake.loggedOut = true;
    await expect(start(platform, again)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
    await again.clean();
  });

  test("a server that is not there is tried again", async () => {
    const platform = await whatsappPlatform();
    await platform.fake.close();
    const { host } = await start(platform);
    await host.until(() => reportsOf(host, "trouble").length > 1);
    expect(reportsOf(host, "dead")).toEqual([]);
  });

  test("connects to the configured address, and tries again when nothing answers there", async () => {
    const { host } = await begin({ waWebSocketUrl: "ws://127.0.0.1:9/ws" });
    await host.until(() => reportsOf(host, "trouble").length > 0);
    expect(reportsOf(host, "alive")).toEqual([]);
  });
});

describe("the folder", () => {
  test("holds the keys for nobody else", async () => {
    const { platform } = await begin();
    for (const name of await fs.readdir(platform.folder)) {
      expect((await fs.stat(path.join(platform.folder, name))).mode & 0o077).toBe(0);
    }
  });

  test("of another kind of file is reported", async () => {
    const platform = await whatsappPlatform();
    await fs.writeFile(path.join(platform.folder, "auth.sqlite"), "x".repeat(5000));
    await fs.rm(path.join(platform.folder, "auth.sqlite-wal"), { force: true });
    const host = new Host();
    await expect(start(platform, host)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
    await platform.close();
  });
});
