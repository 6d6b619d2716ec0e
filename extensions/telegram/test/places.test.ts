import fs from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import { mediaId } from "../../../src/types/ids.ts";
import type { MediaKind } from "../../../src/types/chat/message.ts";
import type { OutboundPart } from "../../../src/types/chat/reply.ts";
import { telegram } from "../index.ts";

afterEach(stopAll);
const text = textAs("plain");

/** A group, and the supergroup that it becomes. */
const CREW = { id: -500, type: "group", title: "Crew" };
const NEW = { id: -100_500, type: "supergroup", title: "Crew" };

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await telegramPlatform();
  const started = await start(platform, host, config);
  return {
    ...started,
    platform,
    fake: platform.fake,
    direct: platform.direct,
    group: platform.group,
    topic: platform.topic!,
  };
}

describe("topics", () => {
  test("messages leave the General topic out, typing names it", async () => {
    const { link, fake, group } = await begin();
    const general = { ...group, thread: "1" };
    expect(await link.send(general, text("to all"), KEY)).toMatchObject({ kind: "sent" });
    await link.typing?.(general);
    expect(fake.sent.map(({ body }) => body["message_thread_id"])).toEqual([undefined, 1]);
  });

  test("typing is shown in General, and the conversation stays that of the group", async () => {
    const { link, fake, host, platform, group } = await begin();
    platform.say(group, "to all");
    const { from } = await host.heard("to all");
    expect(from).toEqual(group);
    await link.typing?.(from);
    expect(platform.typed?.(group)).toBe(1);
    expect(await link.send(from, text("an answer"), KEY)).toMatchObject({ kind: "sent" });
    fake.say("no topics here", { chat: { id: -1010, type: "supergroup", title: "Plain" } });
    const plain = await host.heard("no topics here");
    await link.typing?.(plain.from);
    expect(fake.sent.at(-1)?.body).toEqual({ chat_id: -1010, action: "typing" });
  });

  test("messages carry the topic's name as far as Telegram told it", async () => {
    const { fake, host, topic } = await begin();
    const chat = { id: Number(topic.chat.id), type: "supergroup", title: "Crew", is_forum: true };
    const inTopic = { is_topic_message: true, message_thread_id: 77 };
    const creation = { message_id: 77, date: 1, chat, ...inTopic, forum_topic_created: { name: "Sails" } };
    fake.say("no name yet", { chat, more: inTopic });
    await host.heard("no name yet");
    fake.say("first", { chat, more: { ...inTopic, reply_to_message: creation } });
    await host.heard("first");
    fake.say("", { chat, more: { ...inTopic, text: undefined, forum_topic_edited: { name: "Masts" } } });
    fake.say("second", { chat, more: { ...inTopic, reply_to_message: creation } });
    await host.heard("second");
    const names = host.received.filter(({ text }) => text !== "").map(({ context }) => context?.threadName);
    expect(names).toEqual([undefined, "Sails", "Masts"]);
    expect(host.received.map(({ news }) => news?.subject)).toEqual([undefined, undefined, "Masts", undefined]);
  });

  test("a message for a deleted topic is sent to the group", async () => {
    const { link, fake, topic } = await begin();
    fake.closeTopic(77);
    expect(await link.send(topic, text("still told"), KEY)).toMatchObject({ kind: "sent" });
    expect(fake.shown(topic.chat.id)).toEqual(["still told"]);
  });
});

describe("a channel that the bot administers", () => {
  const NEWS = { id: -1002, type: "channel", title: "News" };
  const post = (message_id: number, said: string, more: object = {}) => ({
    message_id,
    sender_chat: NEWS,
    chat: NEWS,
    date: 1_795_000_000,
    text: said,
    ...more,
  });

  test("is a group whose posts come from the channel itself, edits and albums too", async () => {
    const { fake, host, link } = await begin();
    fake.inject({ channel_post: post(4, "the news") });
    const { from, sender, mentionsBot } = await host.heard("the news");
    expect([from.chat, sender, mentionsBot]).toEqual([
      { kind: "group", id: "-1002", title: "News" },
      { id: "-1002", name: "News" },
      false,
    ]);
    fake.inject({ edited_channel_post: post(4, "the news") });
    fake.inject({ edited_channel_post: post(4, "more news") });
    expect(await host.heard("more news")).toMatchObject({ id: "4", isEdit: true });
    const photo = (id: string) => [{ file_id: id, file_unique_id: id, width: 1, height: 1 }];
    for (const [id, name] of [
      [5, "a"],
      [6, "b"],
    ] as const) {
      const { text: _none, ...own } = post(id, "");
      fake.inject({ channel_post: { ...own, media_group_id: "7", photo: photo(name), caption: name } });
    }
    fake.inject({ channel_post: post(8, "after it") });
    await host.heard("after it");
    expect(host.received.map((message) => [message.text, message.media.length])).toEqual([
      ["the news", 0],
      ["more news", 0],
      ["a\nb", 2],
      ["after it", 0],
    ]);
    expect(await link.send(from, text("an answer"), KEY)).toMatchObject({ kind: "sent" });
  });

  test("ignores posts of the bot itself", async () => {
    const { fake, host, link, group } = await begin();
    const to = { ...group, chat: { kind: "group", id: "-1002" } } as const;
    const sent = await link.send(to, text("mine"), KEY);
    if (sent.kind !== "sent") throw new Error("not sent");
    fake.inject({ channel_post: post(Number(sent.messageId), "mine") });
    fake.inject({ channel_post: post(99, "theirs") });
    await host.heard("theirs");
    expect(host.received).toHaveLength(1);
  });

  const TALK = { id: -1003, type: "supergroup", title: "News talk" };
  /** A post as Telegram shows it in the discussion group. */
  const copy = (message_id: number, said: string, more: object = {}) => ({
    ...post(message_id + 500, said, more),
    chat: TALK,
    from: { id: 777_000, is_bot: false, first_name: "Telegram" },
    is_automatic_forward: true,
    forward_origin: { type: "channel", date: 1_795_000_000, chat: NEWS, message_id },
  });

  test("recognises the bot's posts in the discussion group and in replies", async () => {
    const { fake, host, link, group } = await begin();
    const sent = await link.send({ ...group, chat: { kind: "group", id: "-1002" } }, text("mine"), KEY);
    if (sent.kind !== "sent") throw new Error("not sent");
    const id = Number(sent.messageId);
    fake.inject({ message: copy(id, "mine") });
    fake.inject({ channel_post: post(97, "go on", { reply_to_message: post(id, "mine") }) });
    fake.inject({ channel_post: post(98, "and that", { reply_to_message: post(97, "go on") }) });
    fake.say("a comment", { chat: TALK, more: { reply_to_message: copy(id, "mine") } });
    await host.heard("a comment");
    const seen = host.received.map(({ text: said, mentionsBot, replyTo }) => [said, mentionsBot, replyTo?.fromBot]);
    expect(seen).toEqual([
      ["go on", true, true],
      ["and that", false, undefined],
      ["a comment", true, true],
    ]);
  });

  test.each([
    ["where it is open", { groupPolicy: "open" }, false],
    ["where it is listed", { groups: { "-1002": {}, "-1003": {} } }, false],
    ["but not where only its discussion group is", { groups: { "-1003": {} } }, true],
    ["but not where it is closed", { groupPolicy: "open", groups: { "-1002": { enabled: false } } }, true],
  ])("is named once by a post that comes twice, %s", async (_where, config, again) => {
    const { fake, host } = await begin(config);
    const said = `@${fake.self.username} hello`;
    const more = { entities: [{ type: "mention", offset: 0, length: fake.self.username.length + 1 }] };
    fake.inject({ channel_post: post(40, said, more) });
    fake.inject({ message: copy(40, said, more) });
    fake.inject({ message: copy(41, said, more) });
    const reply = { reply_to_message: { ...copy(39, "of the bot"), from: { ...fake.self, is_bot: true } } };
    fake.inject({ message: copy(40, said, { ...more, ...reply }) });
    await host.until(() => host.received.length === 4);
    expect(host.received.map(({ mentionsBot }) => mentionsBot)).toEqual([true, again, true, again]);
    expect(host.received[3]?.replyTo?.fromBot === true).toBe(again);
  });

  test("marks a post by a bot, where Telegram does", async () => {
    const { fake, host } = await begin();
    const bot = { id: 77, is_bot: true, first_name: "Other" };
    fake.inject({ channel_post: post(50, "a person's") });
    fake.inject({ channel_post: post(51, "through a bot", { via_bot: bot }) });
    fake.inject({ channel_post: post(52, "a bot's", { from: bot }) });
    fake.inject({ message: copy(51, "through a bot", { via_bot: bot }) });
    await host.until(() => host.received.length === 4);
    expect(host.received.map(({ sender }) => sender.isBot === true)).toEqual([false, true, true, true]);
  });
});

describe("a group that becomes a supergroup", () => {
  test("keeps its old id in the gateway, both ways, also after a restart", async () => {
    const platform = await telegramPlatform();
    const { fake } = platform;
    const { host, link } = await start(platform);
    fake.say("", { chat: CREW, more: { text: undefined, migrate_to_chat_id: -100_500 } });
    fake.say("in the new one", { chat: NEW });
    const { from } = await host.heard("in the new one");
    expect(from.chat.id).toBe("-500");
    await link.close();
    const next = new Host(host);
    const again = await start(platform, next);
    fake.say("wake");
    await next.heard("wake");
    expect(await again.link.send(from, text("answer"), KEY)).toMatchObject({ kind: "sent" });
    expect(fake.shown("-100500")).toEqual(["answer"]);
  });

  test("is followed when a send discovers it", async () => {
    const { link, fake, host, group } = await begin();
    fake.migrate(-500, -100_500);
    const peer = { ...group, chat: { kind: "group", id: "-500" } } as const;
    expect(await link.send(peer, text("one"), KEY)).toMatchObject({ kind: "sent" });
    expect(await link.send(peer, text("two"), KEY)).toMatchObject({ kind: "sent" });
    expect(fake.shown("-100500")).toEqual(["one", "two"]);
    expect(fake.sent.filter(({ ok }) => !ok)).toHaveLength(1);
    expect(host.lines.join()).toContain('"to":-100500');
  });

  test("has its new id when the config names that", async () => {
    const { fake, host } = await begin({ groups: { "-100500": {} } });
    fake.say("", { chat: CREW, more: { text: undefined, migrate_to_chat_id: -100_500 } });
    fake.say("in the new one", { chat: NEW });
    expect((await host.heard("in the new one")).from.chat.id).toBe("-100500");
  });
});

describe("the id of a chat", () => {
  test("is the same before and after the group became a supergroup, and in each topic", async () => {
    const { link, fake, host, topic } = await begin();
    fake.say("", { chat: CREW, more: { text: undefined, migrate_to_chat_id: -100_500 } });
    fake.say("in the new one", { chat: NEW });
    const { from } = await host.heard("in the new one");
    const idOf = (id: string) => link.chatId?.({ ...from, chat: { kind: "group", id } });
    expect([await idOf("-500"), await idOf("-100500")]).toEqual(["-100500", "-100500"]);
    const { thread: _thread, ...whole } = topic;
    expect(await link.chatId?.(topic)).toBe(await link.chatId?.(whole));
  });

  test("is looked up once for a public name, and stays unknown when Telegram does not know the name", async () => {
    const { link, fake, group, direct } = await begin();
    fake.publicNames.set("@crew", Number(group.chat.id));
    const named = (id: string) => link.chatId?.({ ...group, chat: { kind: "group", id } });
    expect(await named("@crew")).toBe(group.chat.id);
    fake.publicNames.clear();
    expect(await named("@crew")).toBe(group.chat.id);
    await expect(named("@nobody")).rejects.toThrow("chat not found");
    expect(await link.chatId?.(direct)).toBe(direct.chat.id);
  });
});

describe("reactions", () => {
  const reaction = (chat: object, message_id: number, old: string[], now: string[]) => {
    const list = (emojis: string[]) => emojis.map((emoji) => ({ type: "emoji", emoji }));
    const user = { id: 1001, is_bot: false, first_name: "Ada" };
    return { message_reaction: { chat, message_id, user, date: 1, old_reaction: list(old), new_reaction: list(now) } };
  };

  test("a group's reactions to the bot's own messages are recognised, also after a restart", async () => {
    const platform = await telegramPlatform();
    const { fake, group } = platform;
    const { host, link } = await start(platform);
    fake.say("wake");
    await host.heard("wake");
    const sent = await link.send(group, text("mine"), KEY);
    const inTopic = await link.send({ ...group, thread: "77" }, text("mine too"), { idempotencyKey: "topic" });
    if (sent.kind !== "sent" || inTopic.kind !== "sent") throw new Error("not sent");
    await link.close();
    const next = new Host(host);
    await start(platform, next);
    const chat = { id: -1009, type: "supergroup", title: "Crew" };
    fake.inject(reaction(chat, Number(sent.messageId), [], ["👍"]));
    fake.inject(reaction(chat, 9999, [], ["👎"]));
    fake.inject(reaction(chat, Number(inTopic.messageId), [], ["👍"]));
    // What the first connection received last may come again: it was not acknowledged yet.
    const reactions = () => next.received.filter((it) => it.reaction);
    await next.until(() => reactions().length === 3);
    expect(reactions().map((it) => it.reaction?.toBot)).toEqual([true, undefined, true]);
    expect(reactions().map((it) => it.from.thread)).toEqual([undefined, undefined, "77"]);
  });

  test("replacing an emoji is two events, each with its own key", async () => {
    const { fake, host } = await begin();
    fake.inject(reaction({ id: 1001, type: "private", first_name: "Ada" }, 5, ["👍"], ["❤"]));
    await host.until(() => host.received.length === 2);
    expect(host.received.map((it) => [it.reaction?.emoji, it.reaction?.removed])).toEqual([
      ["👍", true],
      ["❤", undefined],
    ]);
    expect(new Set(host.received.map((it) => it.eventKey)).size).toBe(2);
  });
});

describe("the menu", () => {
  test("shows the gateway's commands and the operator's, is set once, and cleared when it is disabled", async () => {
    const platform = await telegramPlatform();
    const { fake } = platform;
    const config = { ...platform.config, customCommands: [{ command: "/Weather", description: "How it is outside." }] };
    const run = async (settings: object, host: Host) => {
      const { link } = await start(platform, host, { ...config, ...settings });
      fake.say(`message ${host.received.length}`);
      await host.heard("message");
      await expect.poll(() => host.notes.get("menu")).not.toBeUndefined();
      return link;
    };
    const first = new Host();
    await (await run({}, first)).close();
    expect(fake.menu.commands).toEqual([
      { command: "status", description: "How the gateway is." },
      { command: "weather", description: "How it is outside." },
    ]);
    await (await run({}, new Host(first))).close();
    expect(fake.menu.times).toBe(1);
    await run({ commands: { native: false } }, new Host(first));
    await expect.poll(() => fake.menu.commands).toEqual([]);
  });

  test.each([
    ["fits with short descriptions", 9000, 80],
    ["fits in part", 2000, 18],
  ])("that %s is shown so, once", async (_, most, shown) => {
    const platform = await telegramPlatform();
    const { fake } = platform;
    fake.mostInMenu = most;
    const description = "Does a thing that takes many words to describe. ".repeat(5);
    const commands = Array.from({ length: 80 }, (__, at) => ({ name: `does-${at}`, description }));
    const { host, link } = await start(platform, Object.assign(new Host(), { commands }));
    await expect.poll(() => host.notes.get("menu")).not.toBeUndefined();
    expect(fake.menu.commands.length).toBeGreaterThanOrEqual(shown);
    expect(fake.menu.commands[0]).toMatchObject({
      command: "does_0",
      description: expect.stringMatching(/^Does a .*…$/),
    });
    const lines = host.lines.join("\n");
    if (shown < 80) expect(lines).toMatch(/left out of Telegram's menu.*"does_79"/);
    else expect(lines).not.toContain("left out");
    await link.close();
    const next = Object.assign(new Host(host), { commands });
    await start(platform, next);
    fake.say("hello");
    await next.heard("hello");
    expect(fake.menu.times).toBe(1);
  });

  test("leaves out a command whose name Telegram does not allow, keeps the others, and the log says which", async () => {
    const platform = await telegramPlatform();
    const commands = ["docs/review", "/weather", "status"].map((name) => ({ name, description: "Does it." }));
    const { host } = await start(platform, Object.assign(new Host(), { commands }));
    await expect.poll(() => platform.fake.menu.commands).toEqual([{ command: "status", description: "Does it." }]);
    expect(host.lines).toContainEqual(expect.stringMatching(/left out of Telegram's menu.*docs\/review.*\/weather/));
  });
});

describe("files", () => {
  const store = (kind: MediaKind, mime: string, caption?: string): OutboundPart => ({
    kind: "media",
    media: { kind, mime, source: { at: "store", id: mediaId("m1") } },
    ...(caption !== undefined && { caption: text(caption) }),
  });

  test("are sent as an animation, a sticker or, above 10 MB, a plain file", async () => {
    const host = new Host();
    host.media.set("m1", new Uint8Array([1]));
    const { link, fake, direct } = await begin({}, host);
    await link.send(direct, store("image", "image/gif"), KEY);
    await link.send(direct, store("sticker", "image/webp"), KEY);
    host.media.set("m1", new Uint8Array(10 * 1_048_576 + 1));
    await link.send(direct, store("image", "image/png"), KEY);
    expect(fake.sent.map(({ method }) => method)).toEqual(["sendAnimation", "sendSticker", "sendDocument"]);
    host.media.set("m1", new Uint8Array([1]));
    await link.send(direct, store("sticker", "image/webp", "for you"), KEY);
    expect(fake.sent.slice(3).map(({ method, text: said }) => [method, said])).toEqual([
      ["sendMessage", "for you"],
      ["sendSticker", ""],
    ]);
  });

  test("a long caption is sent once, even if its file is retried", async () => {
    const host = new Host();
    host.media.set("m1", new Uint8Array([1]));
    const { link, fake, direct } = await begin({}, host);
    fake.fail("sendVideo", "429", 1, 1);
    const part = store("video", "video/mp4", "c".repeat(1025));
    expect(await link.send(direct, part, KEY)).toMatchObject({ kind: "retry" });
    expect(await link.send(direct, part, KEY)).toMatchObject({ kind: "sent" });
    expect(fake.sent.filter(({ ok }) => ok).map(({ method }) => method)).toEqual(["sendMessage", "sendVideo"]);
  });

  test("above the limit of a bot are refused with that limit", async () => {
    const { maxFileBytes } = await import("../send/shapes.ts");
    expect(maxFileBytes({ apiRoot: "https://api.telegram.org" })).toBe(50 * 1_048_576);
    expect(maxFileBytes({ apiRoot: "http://127.0.0.1:8081" })).toBe(2000 * 1_048_576);
  });

  test("of a Bot API server on this machine are only read in the trusted folders", async () => {
    const root = await fs.mkdtemp(path.join(os.tmpdir(), "bot-api-"));
    const [inside, outside] = [path.join(root, "files", "a"), path.join(root, "secret")];
    await fs.mkdir(path.dirname(inside));
    await fs.writeFile(inside, "abc");
    await fs.writeFile(outside, "no");
    const { link, fake } = await begin({ trustedLocalFileRoots: [path.dirname(inside)] });
    fake.file("a", new Uint8Array(3), inside);
    fake.file("b", new Uint8Array(3), outside);
    fake.file("c", new Uint8Array(3), path.join(root, "files", "..", "secret"));
    const get = async (ref: string) => link.download!({ kind: "document", source: { at: "platform", ref } });
    expect(Buffer.from((await get("a")).bytes).toString()).toBe("abc");
    await expect(get("b")).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    await expect(get("c")).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    await fs.rm(root, { recursive: true });
  });
});

test.each([
  ["off", 0],
  ["dm", 1],
  ["group", 1],
  ["all", 2],
])("buttons with inlineButtons: %s are on %i of two messages", async (inlineButtons, count) => {
  const { link, fake, direct, group } = await begin({ capabilities: { inlineButtons } });
  for (const to of [direct, group])
    await link.send(to, text("q"), { ...KEY, buttons: [{ label: "A", command: "/a" }] });
  expect(fake.sent.filter(({ body }) => body["reply_markup"] !== undefined)).toHaveLength(count);
});

test("edits are ignored when the settings say so", async () => {
  const { fake, host } = await begin({ edits: "ignore" });
  const chat = { id: 1001, type: "private", first_name: "Ada" };
  fake.inject({ edited_message: { message_id: 1, date: 1, edit_date: 2, chat, text: "changed" } });
  fake.say("new");
  await host.heard("new");
  expect(host.received).toHaveLength(1);
});

/** A proxy for CONNECT and plain requests. */
async function startProxy(): Promise<{ url: string; hosts: string[]; close(): void }> {
  const hosts: string[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const server = http.createServer();
  server.on("connect", (request, client) => {
    hosts.push(request.url ?? "");
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const upstream = net.connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => upstream.destroy());
    }
  });
  server.on("request", (request, response) => {
    hosts.push(new URL(request.url ?? "").host);
    const { method, headers } = request;
    const onward = http.request(request.url ?? "", { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, hosts, close };
}

/** A SOCKS5 proxy without logins: a greeting, one request to connect, then bytes in both directions. */
async function startSocks(): Promise<Awaited<ReturnType<typeof startProxy>>> {
  const hosts: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    sockets.add(client);
    client.on("error", () => client.destroy());
    client.once("data", () => {
      client.write(Buffer.from([5, 0]));
      client.once("data", (request) => {
        // Version, command, zero, kind of address (1: IPv4, 3: a name), address, port.
        const end = request[3] === 3 ? 5 + (request[4] ?? 0) : 8;
        const address = request[3] === 3 ? request.toString("latin1", 5, end) : request.subarray(4, 8).join(".");
        const port = request.readUInt16BE(end);
        hosts.push(`${address}:${port}`);
        const upstream = net.connect(port, address, () => {
          client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
          upstream.pipe(client).pipe(upstream);
        });
        sockets.add(upstream);
        upstream.on("error", () => client.destroy());
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `socks5://127.0.0.1:${port}`, hosts, close };
}

test.each([
  ["HTTP", startProxy],
  ["SOCKS5", startSocks],
])("a proxy (%s) carries calls, polls, uploads and downloads", async (_kind, startOne) => {
  const proxy = await startOne();
  const host = new Host();
  host.media.set("m1", new Uint8Array([7, 8]));
  const { link, fake, direct } = await begin({ proxy: proxy.url }, host);
  fake.say("through it");
  await host.heard("through it");
  const media = { kind: "document", source: { at: "store", id: mediaId("m1") } } as const;
  expect(await link.send(direct, { kind: "media", media }, KEY)).toMatchObject({ kind: "sent" });
  expect(fake.sent.at(-1)?.body["document"]).toMatchObject({ bytes: Buffer.from([7, 8]) });
  fake.file("f", new Uint8Array([1, 2]));
  const file = await link.download!({ kind: "document", source: { at: "platform", ref: "f" } });
  expect([...file.bytes]).toEqual([1, 2]);
  expect(new Set(proxy.hosts)).toEqual(new Set([new URL(fake.url).host]));
  proxy.close();
  // Nothing listens there any more.
  const next = await begin({ proxy: proxy.url });
  expect(await next.link.send(direct, text("x"), KEY)).toMatchObject({ kind: "retry" });
  expect(telegram.config.safeParse({ proxy: "ftp://x" }).success).toBe(false);
});
