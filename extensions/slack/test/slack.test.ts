import { afterEach, describe, expect, test, vi } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { mediaId } from "../../../src/types/ids.ts";
import type { OutboundPart } from "../../../src/types/chat/reply.ts";
import { slackAccounts } from "../config.ts";
import { slack } from "../index.ts";
import { openUploads } from "../outbound/uploads.ts";
import { ADA, TOPIC } from "./fake-slack.ts";
import { slackPlatform } from "./slack-platform.ts";
import { untilIdle } from "../../../test/kit/idle.ts";

afterEach(async () => {
  vi.useRealTimers();
  await stopAll();
});
const mrkdwn = textAs("slack-mrkdwn");

async function begin(config: Record<string, unknown> = {}, host = new Host()) {
  const platform = await slackPlatform();
  const started = await start(platform, host, config);
  const { fake, direct, group, topic } = platform;
  await host.until(() => host.reports.some((report) => report.kind === "alive"));
  return { ...started, fake, direct, group, topic };
}

const troubles = (host: Host) => host.reports.filter((report) => report.kind !== "alive");

describe("the id of a chat", () => {
  test("is the same for a person and the chat with them, and for a channel and its threads", async () => {
    const { link, direct, group, topic } = await begin();
    const person = { ...direct, chat: { kind: "direct", id: ADA } } as const;
    expect(await link.chatId?.(person)).toBe(direct.chat.id);
    expect(await link.chatId?.(topic)).toBe(group.chat.id);
    expect(await link.chatId?.(group)).not.toBe(direct.chat.id);
  });

  test("is known for a name once a message was sent to it", async () => {
    const { link, group } = await begin();
    const named = { ...group, chat: { kind: "group", id: "#crew" } } as const;
    expect(await link.send(named, mrkdwn("Now?"), KEY)).toMatchObject({ kind: "sent" });
    expect(await link.chatId?.(named)).toBe(group.chat.id);
  });
});

describe("the socket", () => {
  test.each(["warning", "refresh_requested"])("is replaced without a gap when Slack says %s", async (reason) => {
    const { fake, host } = await begin();
    fake.say("D1", "before");
    fake.rotate(reason);
    let count = 0;
    // One message is always on its way.
    for (; count < 30 || fake.greetings < 2; count++) {
      fake.say("D1", `during ${count};`);
      if (count > 0) await host.heard(`during ${count - 1};`);
    }
    fake.say("D1", "after");
    await host.heard("after");
    const texts = new Set(host.received.map(({ text }) => text));
    expect(texts.size).toBe(count + 2);
    expect(troubles(host)).toEqual([]);
    expect(fake.calls.filter(({ method }) => method === "apps.connections.open")).toHaveLength(2);
    while (fake.sockets > 1 || fake.pending.length > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test("waits for a second before it opens another when Slack requests one right after the last", async () => {
    const { fake, host } = await begin();
    fake.rotate("refresh_requested");
    await host.until(() => fake.greetings === 2);
    while (fake.sockets > 1) await new Promise((resolve) => setImmediate(resolve));
    const at = performance.now();
    fake.rotate("refresh_requested");
    // The old socket receives during the pause.
    fake.say("D1", "meanwhile");
    await host.heard("meanwhile");
    await host.until(() => fake.greetings === 3);
    expect(performance.now() - at).toBeGreaterThan(900);
    expect(troubles(host)).toEqual([]);
  });

  test("that drops again and again loses nothing, and the order is kept", async () => {
    const { fake, host } = await begin();
    for (let number = 0; number < 60; number++) {
      fake.say("D1", `message ${number};`);
      if (number % 20 === 10) fake.cut();
      if (number % 20 === 19) await host.until(() => fake.sockets > 0);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    await host.heard("message 59;");
    const firsts = [...new Set(host.received.map(({ text }) => text))];
    expect(firsts).toEqual(Array.from({ length: 60 }, (_, number) => `message ${number};`));
    expect(new Set(host.received.map(({ eventKey }) => eventKey)).size).toBe(60);
  });

  test("is replaced when nothing comes over it", async () => {
    const { fake, host } = await begin({ socketMode: { serverPingTimeout: 1000 } });
    fake.freeze();
    await host.until(() => troubles(host).length > 0);
    expect(troubles(host)[0]).toMatchObject({ kind: "trouble", reason: "nothing came over the socket for 1000 ms" });
    fake.say("D1", "are you there");
    await host.heard("are you there");
  });

  test("ends the account when Socket Mode is turned off, or the token is revoked", async () => {
    const off = await begin();
    off.fake.rotate("link_disabled");
    await off.host.until(() => troubles(off.host).length > 0);
    expect(troubles(off.host)).toEqual([
      { kind: "dead", reason: expect.any(String), fix: expect.stringMatching(/Socket Mode/) },
    ]);
    const revoked = await begin();
    revoked.fake.fail("apps.connections.open", "token_revoked");
    revoked.fake.cut();
    await revoked.host.until(() => troubles(revoked.host).length > 1);
    expect(troubles(revoked.host)[1]).toMatchObject({ kind: "dead", reason: expect.stringContaining("token_revoked") });
  });

  test("is opened later when Slack cannot be reached at first", async () => {
    const platform = await slackPlatform();
    platform.fake.fail("auth.test", "500", 2);
    const { host } = await start(platform);
    platform.say(platform.direct, "early");
    await host.heard("early");
    expect(host.reports.at(-1)).toEqual({ kind: "alive", self: { id: "UBOT", name: "@test_bot" } });
  });
});

describe("incoming messages", () => {
  test("a mention is one message, however many events Slack sends of it", async () => {
    const { host, fake } = await begin();
    fake.say("C9", `<@${fake.self.userId}> /status &amp; <https://example.org|this> <#C9> <@${ADA}>`);
    await host.until(() => host.received.length === 2);
    const [first, second] = host.received;
    expect(first?.text).toBe("/status & this (https://example.org) #crew @Ada Lovelace");
    expect({ ...second, receivedAt: 0 }).toEqual({ ...first, receivedAt: 0 });
    expect(first).toMatchObject({ mentionsBot: true, teamId: "T1", sender: { id: ADA, username: "ada" } });
  });

  test("other notices, unfurled links, and what the bot itself wrote or did are left out", async () => {
    const { host, fake, link, direct } = await begin();
    fake.say("C9", "set the channel topic", { subtype: "channel_topic" });
    fake.say("C9", "has joined the channel", { subtype: "channel_join", user: fake.self.userId });
    const message = { type: "message", user: ADA, ts: "1.1", text: "look: <https://example.org>" };
    const changed = {
      type: "message",
      subtype: "message_changed",
      channel: "C9",
      ts: "1.2",
      previous_message: message,
    };
    fake.inject({ ...changed, message: { ...message, attachments: [{ from_url: "https://example.org" }] } });
    fake.inject({ type: "message", subtype: "message_deleted", channel: "C9", ts: "1.3", deleted_ts: "1.1" });
    fake.inject({ type: "member_joined_channel", user: ADA, channel: "C9" });
    const sent = await link.send(direct, mrkdwn("mine"), KEY);
    if (sent.kind === "sent") await link.edit?.(direct, sent.messageId, mrkdwn("mine too"));
    fake.say("D1", "the end");
    await host.heard("the end");
    expect(host.received).toHaveLength(1);
    expect(fake.pending.length).toBeLessThanOrEqual(1);
  });

  test("a forwarded message is untrusted, and the attachments of other bots are their text", async () => {
    const { host, fake } = await begin();
    const forwarded = { is_share: true, author_name: "Bob", text: "secret plan" };
    fake.say("D1", "see", { attachments: [forwarded, { from_url: "https://example.org", text: "preview" }] });
    expect((await host.heard("see")).untrusted).toEqual(["Forwarded from Bob: secret plan"]);
    fake.say("C9", "", { user: "U77", bot_id: "B77", attachments: [{ fallback: "disk full" }] });
    expect((await host.heard("disk full")).sender).toMatchObject({ id: "U77", isBot: true });
  });

  test("a message in a thread brings the thread's first message, and once its earlier lines", async () => {
    const { host, fake, link, topic } = await begin({ thread: { initialHistoryLimit: 2 } });
    for (const text of ["one", "two", "three"]) fake.say("C9", text, { thread_ts: TOPIC, user: "U2" }, true);
    fake.say("C9", `<@${fake.self.userId}> what do you think?`, { thread_ts: TOPIC });
    const asked = await host.heard("what do you think?");
    expect(asked).toMatchObject({ from: topic, mentionsBot: true, context: { threadStarter: "the topic" } });
    expect(asked.context?.threadHistory).toEqual([
      "Earlier in the thread, U2: two",
      "Earlier in the thread, U2: three",
    ]);
    fake.say("C9", "just among us", { thread_ts: TOPIC });
    expect((await host.heard("just among us")).mentionsBot).toBe(false);
    await link.send(topic, mrkdwn("my view"), KEY);
    fake.say("C9", "go on", { thread_ts: TOPIC });
    const more = await host.heard("go on");
    expect(more.mentionsBot).toBe(true);
    expect(more.untrusted).toBeUndefined();
  });

  test("a new thread gets the channel's earlier messages once, with thread.inheritParent", async () => {
    const { host, fake, link, group } = await begin({ thread: { inheritParent: true, initialHistoryLimit: 2 } });
    for (const text of ["one", "two", "three"]) fake.say("C9", text, { user: "U2" }, true);
    const parent = fake.say("C9", "the question", {}, true);
    fake.say("C9", "later", { user: "U2" }, true);
    const name = `<@${fake.self.userId}>`;
    fake.say("C9", `${name} look here`, { thread_ts: parent });
    const asked = await host.heard("look here");
    expect(asked.context?.threadStarter).toBe("the question");
    expect(asked.context?.threadHistory).toEqual([
      "Earlier in the channel, U2: two",
      "Earlier in the channel, U2: three",
    ]);
    fake.say("C9", `${name} and here`, { thread_ts: parent });
    expect((await host.heard("and here")).untrusted).toBeUndefined();
    const answered = fake.say("C9", "another", {}, true);
    await link.send({ ...group, thread: answered }, mrkdwn("an answer"), KEY);
    fake.say("C9", `${name} once more`, { thread_ts: answered });
    expect((await host.heard("once more")).untrusted).toBeUndefined();
  });

  test("threads of the bot need a mention with thread.requireExplicitMention", async () => {
    const { host, platform, group } = await begin({ thread: { requireExplicitMention: true } });
    platform.say(group, "and then?", { replyingToBot: true });
    const message = await host.heard("and then?");
    expect(message.mentionsBot).toBe(false);
    expect(message.replyTo).toBeUndefined();
  });

  test("the slash command is a command of the gateway, or a message", async () => {
    const { host, fake } = await begin({ slashCommand: { enabled: true, name: "/claw" } });
    const command = { command: "/claw", team_id: "T1", channel_id: "C9", user_id: ADA, response_url: "https://x" };
    fake.deliver("slash_commands", { ...command, text: "status now", trigger_id: "1.2" });
    fake.deliver("slash_commands", { ...command, text: "/status later", trigger_id: "1.5" });
    fake.deliver("slash_commands", { ...command, text: "hello there", trigger_id: "1.3" });
    fake.deliver("slash_commands", { ...command, command: "/other", text: "no", trigger_id: "1.4" });
    const said = await host.heard("hello there");
    expect(host.received.map(({ text, event }) => [text, event])).toEqual([
      ["/status now", "command"],
      ["/status later", "command"],
      ["hello there", "command"],
    ]);
    expect(said).toMatchObject({ mentionsBot: true, from: { chat: { id: "C9", kind: "group", title: "crew" } } });
  });

  test("commands are written as Slack's apps send them, and so written they are commands", async () => {
    const { host, fake, link, direct, group, topic } = await begin();
    const forms = (of: typeof link) => [direct, group, topic].map((to) => of.commandForm?.(to).prefix);
    expect(forms(link)).toEqual(["/", "@test_bot /", "@test_bot /"]);
    expect(link.commandForm?.(direct).note).toContain("begin it with a space");
    fake.say("D1", " /status");
    await host.heard("/status");
    fake.say("C9", `<@${fake.self.userId}> /think high`);
    await host.heard("/think high");
    const slash = await begin({ slashCommand: { enabled: true, name: "/claw" } });
    expect(forms(slash.link)).toEqual(["/claw ", "/claw ", "@test_bot /"]);
  });

  test("people and channels whose names Slack does not give are named by their ids", async () => {
    const { host, fake } = await begin();
    fake.say("C404", "who am I", { user: "UGONE" });
    const message = await host.heard("who am I");
    expect(message.sender).toEqual({ id: "UGONE" });
    expect(message.from.chat).toEqual({ kind: "group", id: "C404" });
  });

  test("a reaction to a message of the bot in a thread belongs to the thread, also after a restart", async () => {
    const platform = await slackPlatform();
    const { group, topic } = platform;
    const first = await start(platform);
    const sent = await first.link.send(topic, mrkdwn("in the thread"), KEY);
    const main = await first.link.send(group, mrkdwn("in the channel"), { idempotencyKey: "other" });
    if (sent.kind !== "sent" || main.kind !== "sent") throw new Error("not sent");
    const threads = async (host: Host, emoji: string) => {
      platform.fake.say("D1", `awake ${emoji}`);
      await host.heard(`awake ${emoji}`);
      for (const { messageId } of [sent, main]) platform.react?.(group, messageId, emoji);
      await host.until(() => host.received.filter(({ reaction }) => reaction).length === 2);
      const found = host.received.filter(({ reaction }) => reaction).toSorted((a, b) => Number(a.id) - Number(b.id));
      return found.map(({ from }) => from.thread);
    };
    expect(await threads(first.host, "👍")).toEqual([TOPIC, undefined]);
    await first.link.close();
    const next = new Host(first.host);
    await start(platform, next);
    expect(await threads(next, "👎")).toEqual([TOPIC, undefined]);
  });

  test("missed messages in threads are found too, within Slack's rate limit", async () => {
    const { fake, link } = await begin();
    fake.say("D1", "alone", {}, true);
    const parent = fake.say("C9", "a new thread", {}, true);
    fake.say("C9", "an answer", { thread_ts: parent }, true);
    fake.fail("conversations.history", "429");
    const missed = (await link.missedSince?.(Date.now() - 60_000)) ?? [];
    expect(missed.map(({ text, from }) => [text, from.chat.id, from.thread])).toEqual([
      ["alone", "D1", undefined],
      ["a new thread", "C9", undefined],
      ["an answer", "C9", parent],
    ]);
  });

  test("missed messages in the bot's threads are found however old the thread is, also after a restart", async () => {
    const platform = await slackPlatform();
    const { fake, topic } = platform;
    const first = await start(platform);
    await first.link.send(topic, mrkdwn("my view"), KEY);
    fake.say("C9", "delivered", { thread_ts: TOPIC });
    await first.host.heard("delivered");
    await expect.poll(() => first.host.notes.get("threads")).toContain(TOPIC);
    await first.link.close();
    fake.say("C9", "and then?", { thread_ts: TOPIC }, true);
    fake.say("C9", "to all", { thread_ts: TOPIC, subtype: "thread_broadcast" }, true);
    const { link } = await start(platform, new Host(first.host));
    const missed = (await link.missedSince?.(Date.now() - 60_000)) ?? [];
    expect(missed.filter(({ from }) => from.thread === TOPIC).map(({ text }) => text)).toEqual([
      "delivered",
      "and then?",
      "to all",
    ]);
    // The gateway knows it by this key.
    expect(missed.find(({ text }) => text === "delivered")?.eventKey).toBe(first.host.received.at(-1)?.eventKey);
  });

  test("of very many old threads, those in which the bot wrote last are asked, and the log says how many were not", async () => {
    const platform = await slackPlatform();
    const { fake, topic } = platform;
    const first = await start(platform);
    const threads = Array.from({ length: 130 }, (_, at) => `1600000000.${String(at).padStart(6, "0")}`);
    for (const [at, ts] of [...threads, "1600000000.000000"].entries()) {
      await first.link.send({ ...topic, thread: ts }, mrkdwn(`view ${at}`), { idempotencyKey: `k${at}` });
    }
    await expect.poll(async () => (await first.host.notes.get("threads"))?.endsWith('1600000000.000000"]')).toBe(true);
    fake.calls.length = 0;
    await first.link.missedSince?.(Date.now() - 60_000);
    const asked = fake.calls.filter(({ method }) => method === "conversations.replies").map(({ body }) => body["ts"]);
    expect(asked).toEqual([threads[0], ...threads.toReversed().slice(0, 99)]);
    expect(first.host.lines.join("\n")).toContain('older threads only {"requested":100,"left":30}');
  });

  test("a chat or a type of chats that Slack refuses to show does not affect the others and is logged once", async () => {
    const { fake, link, host } = await begin();
    fake.say("D1", "alone", {}, true);
    fake.say("C9", "together", {}, true);
    const ask = async () => (await link.missedSince?.(Date.now() - 60_000))?.map(({ text }) => text);
    for (let round = 0; round < 2; round++) {
      fake.fail("conversations.history", "not_in_channel");
      expect(await ask()).toEqual(["together"]);
    }
    expect(host.lines.filter((line) => line.includes("not_in_channel"))).toHaveLength(1);
    fake.fail("users.conversations", "missing_scope", 2);
    expect(await ask()).toEqual(["together"]);
    expect(host.lines.filter((line) => line.includes("missing_scope") && line.includes("type im"))).toHaveLength(1);
    fake.fail("conversations.history", "500");
    await expect(ask()).rejects.toThrow();
  });
});

describe("outgoing messages", () => {
  test("thread, key, previews and buttons reach Slack", async () => {
    const { link, fake, topic } = await begin({ unfurlLinks: true });
    const buttons = [
      { label: "Yes", command: "/approve 1 once" },
      { label: "No", command: "x".repeat(2001) },
    ];
    const long = `${"a".repeat(2990)}\n${"b".repeat(900)}`;
    expect(await link.send(topic, mrkdwn(long), { ...KEY, buttons, replyTo: "5.5" })).toMatchObject({ kind: "sent" });
    const { body } = fake.calls.findLast(({ method }) => method === "chat.postMessage")!;
    expect(body).toMatchObject({
      channel: "C9",
      thread_ts: TOPIC,
      text: long,
      unfurl_links: "true",
      unfurl_media: "false",
    });
    expect(JSON.parse(body["metadata"]!)).toEqual({ event_type: "openclaw_reply", event_payload: { key: "k" } });
    const blocks = JSON.parse(body["blocks"]!) as { type: string; text?: { text: string }; elements?: unknown[] }[];
    expect(blocks.map(({ type }) => type)).toEqual(["section", "section", "actions"]);
    expect(blocks.slice(0, 2).map(({ text }) => text?.text.length)).toEqual([2990, 900]);
    expect(blocks[2]?.elements).toMatchObject([{ action_id: "openclaw:0", value: "/approve 1 once" }]);
  });

  test("an edit without buttons removes them", async () => {
    const { link, fake, direct } = await begin();
    const sent = await link.send(direct, mrkdwn("sure?"), { ...KEY, buttons: [{ label: "Yes", command: "/yes" }] });
    if (sent.kind !== "sent") throw new Error("not sent");
    expect(fake.messages.at(-1)?.blocks).toHaveLength(2);
    await link.edit?.(direct, sent.messageId, mrkdwn("done"));
    expect(fake.messages.at(-1)).toMatchObject({ text: "done", blocks: [] });
  });

  test("plain text is escaped, a deleted thread is skipped, a person gets a direct message", async () => {
    const { link, fake, direct } = await begin();
    const plain = { kind: "text", format: "plain", body: "a < b", plain: "a < b" } as const;
    await link.send({ ...direct, chat: { kind: "direct", id: ADA } }, plain, { ...KEY, replyTo: "1.000001" });
    const shown = fake.messages.at(-1);
    expect(shown).toMatchObject({ channel: "D1", text: "a &lt; b" });
    expect(shown?.thread_ts).toBeUndefined();
  });

  test.each([
    ["internal_error", "unknown"],
    ["service_unavailable", "retry"],
    ["ratelimited", "retry"],
    ["token_revoked", "retry"],
    ["is_archived", "refused"],
    ["missing_scope", "refused"],
  ])("%s means %s", async (word, kind) => {
    const { link, fake, direct } = await begin();
    fake.fail("chat.postMessage", word);
    expect(await link.send(direct, mrkdwn("x"), KEY)).toMatchObject({ kind, reason: expect.stringContaining(word) });
  });

  test.each(["page", "cut", "204"])("an answer that says nothing (%s) is no refusal", async (fault) => {
    const { link, fake, direct } = await begin();
    const part = mrkdwn("x");
    await link.send(direct, part, { idempotencyKey: "before" });
    fake.fail("chat.postMessage", fault);
    expect(await link.send(direct, part, KEY)).toMatchObject({ kind: "unknown" });
    expect(await link.find?.(direct, part, KEY)).toMatchObject({ kind: "sent" });
  });

  test("a bot token that is revoked while the socket is open is reported with its fix", async () => {
    const { link, fake, direct } = await begin();
    fake.fail("chat.postMessage", "token_revoked");
    expect(await link.send(direct, mrkdwn("x"), KEY)).toMatchObject({
      kind: "retry",
      fix: expect.stringMatching(/botToken/),
    });
  });

  test("a send with an unknown outcome is looked for in Slack's history", async () => {
    const { link, fake, direct, topic } = await begin();
    const other = { idempotencyKey: "other" };
    const part = mrkdwn("x");
    expect(await link.find?.(direct, part, KEY)).toMatchObject({ kind: "retry" });
    const sent = await link.send(topic, part, KEY);
    expect(await link.find?.(topic, part, KEY)).toEqual(sent);
    expect(await link.find?.(topic, part, other)).toMatchObject({ kind: "retry" });
    const asked = fake.say("D1", "question", {}, true);
    const below = await link.send(direct, part, { idempotencyKey: "below", replyTo: asked });
    expect(await link.find?.(direct, part, { idempotencyKey: "below", replyTo: asked })).toEqual(below);
    const gone = { idempotencyKey: "gone", replyTo: "1.000001" };
    expect(await link.find?.(direct, part, gone)).toMatchObject({ kind: "retry" });
    const alone = await link.send(direct, part, gone);
    expect(await link.find?.(direct, part, gone)).toEqual(alone);
    const looks = fake.calls.filter(({ method }) => method === "conversations.replies").map(({ body }) => body["ts"]);
    expect(looks.slice(-3)).toEqual([asked, "1.000001", "1.000001"]);
    fake.say("D1", "of us, without a key", { user: fake.self.userId, bot_id: fake.self.botId }, true);
    expect(await link.find?.(direct, part, KEY)).toMatchObject({ kind: "unknown" });
    fake.fail("conversations.history", "500");
    expect(await link.find?.(direct, part, KEY)).toMatchObject({ kind: "unknown" });
  });

  test("a new reaction replaces the old one, also after a restart", async () => {
    const { link, platform, host, direct } = await begin();
    const id = platform.say(direct, "hm");
    await host.heard("hm");
    await link.react?.(direct, id, "👀");
    await link.react?.(direct, id, "✅");
    expect(platform.reactions?.(direct, id)).toEqual(["✅"]);
    await link.close();
    const { link: second } = await start(platform);
    expect(await second.react?.(direct, id, undefined)).toMatchObject({ kind: "sent" });
    expect(platform.reactions?.(direct, id)).toEqual([]);
    expect(await second.react?.(direct, id, "🪬")).toMatchObject({ kind: "refused" });
  });

  test("the typing reaction stays until the answer", async () => {
    const { link, platform, host, direct } = await begin({ typingReaction: "hourglass_flowing_sand" });
    const id = platform.say(direct, "work");
    await host.heard("work");
    await link.typing?.(direct, id);
    await link.typing?.(direct, id);
    expect(platform.reactions?.(direct, id)).toEqual(["⏳"]);
    await link.send(direct, mrkdwn("a reminder"), { idempotencyKey: "cron" });
    await link.send(direct, mrkdwn("to another"), { idempotencyKey: "k2", answers: "m:D1:1.1" });
    await untilIdle();
    expect(platform.reactions?.(direct, id)).toEqual(["⏳"]);
    const { eventKey: answers } = await host.heard("work");
    await link.send(direct, mrkdwn("done"), { ...KEY, answers });
    while (platform.reactions?.(direct, id).length !== 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test("the typing reaction is that of the answered message, whoever writes meanwhile, and goes without an answer", async () => {
    const { link, platform, host, direct } = await begin({ typingReaction: "hourglass_flowing_sand" });
    const first = platform.say(direct, "work");
    await link.typing?.(direct, first);
    const second = platform.say(direct, "and this");
    await host.heard("and this");
    await link.typing?.(direct, first);
    expect([first, second].map((id) => platform.reactions?.(direct, id))).toEqual([["⏳"], []]);
    await link.endTyping?.(direct);
    expect(platform.reactions?.(direct, first)).toEqual([]);
    await link.typing?.(direct, second);
    expect([first, second].map((id) => platform.reactions?.(direct, id))).toEqual([[], ["⏳"]]);
    await link.endTyping?.(direct);
    expect(platform.reactions?.(direct, second)).toEqual([]);
  });

  test("a thread's status is removed when nothing was sent, and by Slack itself when something was", async () => {
    const { link, fake, topic } = await begin();
    const states = () =>
      fake.calls.flatMap(({ method, body }) => (method === "assistant.threads.setStatus" ? [body["status"]] : []));
    await link.endTyping?.(topic);
    expect(states()).toEqual([]);
    await link.typing?.(topic);
    await link.endTyping?.(topic);
    expect(states()).toEqual(["is typing…", ""]);
    await link.typing?.(topic);
    await link.send(topic, mrkdwn("done"), KEY);
    await link.endTyping?.(topic);
    expect(states()).toEqual(["is typing…", "", "is typing…"]);
  });

  test("an app that may not show typing tries once", async () => {
    const { link, fake, platform, topic } = await begin();
    fake.fail("assistant.threads.setStatus", "missing_scope");
    await link.typing?.(topic);
    await link.typing?.(topic);
    expect(platform.typed?.(topic)).toBe(1);
  });
});

describe("files", () => {
  const media = { kind: "document", name: "a.txt", source: { at: "store", id: mediaId("a") } } as const;
  const part: OutboundPart = { kind: "media", media, caption: mrkdwn("a &amp; b") };

  async function withFile() {
    const host = new Host();
    host.media.set("a", new TextEncoder().encode("hello"));
    return begin({}, host);
  }

  test("go to a thread, and a send that may have arrived is found again", async () => {
    const { link, fake, topic } = await withFile();
    fake.fail("files.completeUploadExternal", "lost");
    expect(await link.send(topic, part, KEY)).toMatchObject({ kind: "unknown" });
    const shown = fake.messages.at(-1);
    expect(shown).toMatchObject({ channel: "C9", thread_ts: TOPIC, text: "a &amp; b" });
    expect(await link.find?.(topic, part, KEY)).toEqual({ kind: "sent", messageId: shown?.ts });
    expect(await link.find?.(topic, part, { idempotencyKey: "never" })).toMatchObject({ kind: "retry" });
  });

  test("two at once are both found again", async () => {
    const { link, fake, direct, topic } = await withFile();
    fake.fail("files.completeUploadExternal", "lost", 2);
    const other = { idempotencyKey: "other" };
    await Promise.all([link.send(topic, part, KEY), link.send(direct, part, other)]);
    const shown = (channel: string) =>
      fake.messages.find((message) => message.channel === channel && message.files)?.ts;
    expect(await link.find?.(topic, part, KEY)).toEqual({ kind: "sent", messageId: shown("C9") });
    expect(await link.find?.(direct, part, other)).toEqual({ kind: "sent", messageId: shown("D1") });
  });

  test("that are noted at once are all in the note", async () => {
    const { notes } = new Host();
    const uploads = openUploads(notes);
    const items = ["first", "second"].map((key) => ({ key, file: "F1", at: 1 }));
    await Promise.all(items.map((item) => uploads.add(item)));
    expect(await openUploads(notes).all()).toEqual(items);
  });

  test("that Slack shows a moment later are found; after minutes a missing file counts as not sent", async () => {
    const { link, fake, topic } = await withFile();
    fake.fail("files.completeUploadExternal", "lost");
    await link.send(topic, part, KEY);
    fake.unshown = 2;
    expect(await link.find?.(topic, part, KEY)).toEqual({ kind: "sent", messageId: fake.messages.at(-1)?.ts });
    fake.unshown = 100;
    expect(await link.find?.(topic, part, KEY)).toMatchObject({ kind: "unknown" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5 * 60_000 });
    expect(await link.find?.(topic, part, KEY)).toMatchObject({ kind: "retry" });
  });

  test.each(["drop", "500"])("that cannot be fetched now (%s) can be fetched later", async (how) => {
    const { link, fake } = await begin();
    const { id } = fake.upload(new Uint8Array([7]), { name: "a.txt" });
    const get = () => link.download!({ kind: "document", source: { at: "platform", ref: String(id) } });
    fake.fail("files.info", how);
    await expect(get()).rejects.toMatchObject({ name: "NotNow" });
    expect([...(await get()).bytes]).toEqual([7]);
  });

  test.each(["drop", "500"])("whose upload fails (%s) may be sent again", async (how) => {
    const { link, fake, direct } = await withFile();
    fake.fail("files.getUploadURLExternal", how);
    expect(await link.send(direct, part, KEY)).toMatchObject({ kind: "retry" });
    const sent = await link.send(direct, part, KEY);
    expect(sent).toEqual({ kind: "sent", messageId: fake.messages.at(-1)?.ts });
  });

  test("of other people are fetched only from Slack, up to the limit", async () => {
    const { link, fake } = await begin({ mediaMaxMb: 0.001 });
    const item = (ref: unknown) => ({ kind: "document", source: { at: "platform", ref: String(ref) } }) as const;
    const outside = fake.upload(new Uint8Array(3), { name: "x" });
    outside["url_private_download"] = "https://example.org/x";
    await expect(link.download?.(item(outside["id"]))).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    const large = fake.upload(new Uint8Array(2000), { name: "x" });
    await expect(link.download?.(item(large["id"]))).rejects.toMatchObject({ code: "MEDIA_TOO_LARGE" });
    fake.scopes = "chat:write";
    const picture = fake.upload(new Uint8Array(3), { name: "x.png", mimetype: "image/png" });
    await expect(link.download?.(item(picture["id"]))).rejects.toMatchObject({
      message: expect.stringMatching(/files:read/),
    });
    await expect(link.download?.(item("F404"))).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
  });

  test("stored elsewhere or hidden are described, deleted ones are not", async () => {
    const { host, fake } = await begin();
    const external = { id: "F9", mode: "external", title: "Plan", url_private: "https://docs.example.org/1" };
    const voice = { id: "F8", mode: "hosted", subtype: "slack_audio", mimetype: "audio/webm", duration_ms: 2400 };
    const hidden = { id: "F6", mode: "hidden_by_limit", name: "old.pdf" };
    fake.say("D1", "files", { files: [external, voice, hidden, { id: "F7", mode: "tombstone" }] });
    const message = await host.heard("files");
    expect(message.untrusted).toEqual([
      "File kept elsewhere: Plan https://docs.example.org/1",
      "File, hidden by the limits of the workspace's plan: old.pdf",
    ]);
    expect(message.media).toEqual([
      { kind: "voice", mime: "audio/webm", durationSeconds: 2, source: { at: "platform", ref: "F8" } },
    ]);
  });
});

describe("settings", () => {
  test("each account has the channel's keys and its own", () => {
    const accounts = slackAccounts({
      appToken: "xapp-1",
      unfurlLinks: true,
      accounts: { work: { botToken: "xoxb-1" }, home: { botToken: "xoxb-2", mode: "http", signingSecret: "s" } },
    });
    expect(accounts.map(({ account, config }) => [account, config.mode, config.unfurlLinks])).toEqual([
      ["work", "socket", true],
      ["home", "http", true],
    ]);
    expect(JSON.stringify(accounts)).not.toMatch(/xoxb-|xapp-/);
  });

  test.each([{ botToken: "xoxb-1" }, { appToken: "xapp-1" }, { botToken: "xoxb-1", mode: "http" }])(
    "a missing setting is reported (%j)",
    async (input) => {
      const { fake, adapter } = await slackPlatform();
      const config = slack.config.parse({
        ...input,
        ...("mode" in input && { botToken: fake.botToken }),
        apiUrl: fake.url,
      });
      await expect(slack.connect(config, new Host())).rejects.toMatchObject({ code: "CHANNEL_CONFIG" });
      expect(adapter).toBe(slack);
      await fake.close();
    },
  );

  test("doctor gets the bot's name and its missing scopes", async () => {
    const { fake, config } = await slackPlatform();
    const { signal } = new AbortController();
    const ask = async (more: Record<string, unknown> = {}) =>
      slack.probe?.(slack.config.parse({ ...config, ...more }), signal);
    expect(await ask()).toBe("@test_bot in Test");
    fake.scopes = fake.scopes.replace("files:read,", "");
    expect(await ask()).toBe("@test_bot in Test; the app lacks files:read (files of people)");
    await expect(ask({ appToken: "xapp-wrong" })).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
    fake.scopes = "im:history";
    await expect(ask()).rejects.toMatchObject({ code: "CHANNEL_AUTH", fix: expect.stringContaining("chat:write") });
    await fake.close();
    await expect(ask()).rejects.toThrow(/cannot be reached|no answer/);
  });
});
