import type { TestRunner } from "../runner.ts";
import type { TestContext } from "vitest";
import { renderText } from "../../src/outbox/render.ts";
import type { ChannelAdapter } from "../../src/types/chat/channel.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import type { AnyPlatform, PlatformFile } from "./platform.ts";
import { PNG } from "./picture.ts";
import { start, text, type Running } from "./running.ts";

type Open = () => Promise<AnyPlatform>;

const key = { idempotencyKey: "reply-1" };
const PICTURE: PlatformFile = { kind: "image", bytes: PNG, mime: "image/png", name: "dot.png" };

/** The fake's side of a capability. A test of a capability that the channel lacks is skipped; a fake that lacks it fails. */
function observer<T>(context: TestContext, named: { what: string; link: unknown; fake: T | undefined }): T {
  if (named.fake !== undefined) return named.fake;
  if (named.link === undefined) context.skip(`the channel has no ${named.what}`);
  throw new Error(`the link has ${named.what}, but the fake platform cannot show them`);
}

const buttonsIn = (chat: Peer, { adapter, config }: Pick<AnyPlatform, "adapter" | "config">) =>
  (adapter as ChannelAdapter).buttons?.(adapter.config.parse(config), chat);

async function sentId({ link, platform }: Running, body = "of the bot"): Promise<string> {
  const sent = await link.send(platform.direct, text(body), key);
  if (sent.kind !== "sent") throw new Error(`not sent: ${sent.reason}`);
  return sent.messageId;
}

/** Tests of acts of people beside writing. Each part is skipped, visibly, where the platform has no such act. */
export function inboundFeatures({ expect, test }: TestRunner, open: Open): void {
  test("an edit is a new event of the same message", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.change) return context.skip("the platform reports no edits");
    const id = platform.say(platform.direct, "first words");
    const first = await host.heard("first words");
    platform.change(platform.direct, id, "second thoughts");
    const second = await host.heard("second thoughts");
    expect(second).toMatchObject({ id, isEdit: true, from: platform.direct, sender: first.sender });
    expect(second.eventKey).not.toBe(first.eventKey);
  });

  const waysToCall = [
    " ",
    "  ",
    ": ",
    ", ",
    ":",
    ",\n",
    "\uFF0C",
    "\uFF1A ",
    "\u3001",
    "\u060C ",
    "\u200E \u200F",
    "\u00A0",
  ];

  test("a command is one after a mention of the bot, in captions too", async (context) => {
    const { platform, host } = await start(await open());
    const { group, call } = platform;
    if (!group || !call) return context.skip("the platform has no mentions at the start of a text");
    const files = platform.attach ? [undefined, PICTURE] : [undefined];
    for (const [at, between] of waysToCall.entries()) {
      for (const file of files) {
        const command = `/stop ${at} ${file ? "file" : "text"}`;
        call(group, `${between}${command}`, file);
        const { text: said, media, mentionsBot } = await host.heard(command);
        const read = { said, files: media.length, mentionsBot };
        expect(read, JSON.stringify(between)).toEqual({ said: command, files: file ? 1 : 0, mentionsBot: true });
      }
    }
  });

  test("a reaction is an event without text", async (context) => {
    const running = await start(await open());
    const { platform, host } = running;
    if (!platform.react) return context.skip("the platform reports no reactions");
    const messageId = await sentId(running);
    const find = (removed: boolean) =>
      host.received.find(({ reaction }) => reaction && (reaction.removed === true) === removed);
    platform.react(platform.direct, messageId, "👍");
    await host.until(() => find(false) !== undefined);
    expect(find(false)).toMatchObject({ event: "reaction", text: "", from: platform.direct });
    expect(find(false)?.reaction).toEqual({ emoji: "👍", messageId, toBot: true });
    platform.react(platform.direct, messageId, "👍", { removed: true });
    await host.until(() => find(true) !== undefined);
    expect(find(true)?.reaction).toMatchObject({ emoji: "👍", messageId, removed: true });
  });

  test("what else happens in a group is news without text, of whoever did it", async (context) => {
    const { platform, host } = await start(await open());
    const { group, news = [] } = platform;
    if (!group || news.length === 0) return context.skip("the platform reports nothing else");
    platform.say(group, "I am here");
    const { sender } = await host.heard("I am here");
    for (const [at, happens] of news.entries()) {
      const expected = happens();
      const reported = () => host.received.filter(({ event }) => event === "news");
      await host.until(() => reported().length > at);
      expect(reported()[at]).toMatchObject({ text: "", from: group, sender: { id: sender.id }, news: expected });
    }
    const keys = host.received.map(({ eventKey }) => eventKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("the adapter names the limits of buttons where people can press them, and the largest are pressed as they were sent", async (context) => {
    const { platform, host, link } = await start(await open());
    const limits = buttonsIn(platform.direct, platform);
    if (!platform.press || !limits) return context.skip("the platform has no buttons");
    const command = "x".repeat(limits.command);
    const buttons = [{ label: "l".repeat(limits.label), command }];
    const sent = await link.send(platform.direct, text("choose"), { ...key, buttons });
    if (sent.kind !== "sent") throw new Error(`not sent: ${sent.reason}`);
    platform.press(platform.direct, sent.messageId, command);
    expect(await host.heard(command)).toMatchObject({ id: sent.messageId, event: "button" });
  });

  test("a pressed button comes as the text of its command", async (context) => {
    const running = await start(await open());
    const { platform, host } = running;
    if (!platform.press) return context.skip("the platform has no buttons");
    platform.press(platform.direct, await sentId(running), "/approve 7 once");
    expect(await host.heard("/approve 7 once")).toMatchObject({
      event: "button",
      mentionsBot: true,
      from: platform.direct,
    });
  });

  test("a press comes from the chat where the button was shown, thread or not, and from no other", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.press) return context.skip("the platform has no buttons");
    const idOf = async (chat: Peer) => link.chatId?.(chat) ?? chat.chat.id;
    const { direct, group, topic } = platform;
    const places = [direct, group, topic].filter((place) => place !== undefined);
    for (const [at, place] of places.entries()) {
      const sent = await link.send(place, text("choose"), { idempotencyKey: `choice-${at}` });
      if (sent.kind !== "sent") throw new Error(`not sent: ${sent.reason}`);
      platform.press(place, sent.messageId, `choice ${at}`);
      const { from } = await host.heard(`choice ${at}`);
      expect(from).toMatchObject({ chat: { id: place.chat.id } });
      expect(await idOf(from)).toBe(await idOf(place));
      if (place !== direct) expect(await idOf(from)).not.toBe(await idOf(direct));
    }
  });

  test("a file comes by reference, and can be fetched", async (context) => {
    const { platform, host, link } = await start(await open());
    const attach = observer(context, { what: "files", link: link.download, fake: platform.attach?.bind(platform) });
    attach(platform.direct, "look at this", PICTURE);
    const { media } = await host.heard("look at this");
    expect(media).toHaveLength(1);
    const [item] = media;
    expect(item).toMatchObject({ kind: "image", source: { at: "platform" } });
    const file = await link.download?.(item!);
    expect(Buffer.from(file?.bytes ?? []).equals(PNG)).toBe(true);
  });

  test("a file that somebody answers comes along with what they say", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.quote) return context.skip("the platform does not give files of quoted messages");
    platform.quote(platform.direct, "what is this?", PICTURE);
    const { media, replyTo } = await host.heard("what is this?");
    expect([media, replyTo?.media?.length]).toEqual([[], 1]);
    const file = await link.download?.(replyTo!.media![0]!);
    expect(Buffer.from(file?.bytes ?? []).equals(PNG)).toBe(true);
  });

  test("another bot is known as one", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.sayAsBot || !platform.group) return context.skip("bots do not hear bots there");
    platform.sayAsBot(platform.group, "beep");
    expect((await host.heard("beep")).sender.isBot).toBe(true);
  });

  test("an event that is delivered twice has one key", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.redeliver) return context.skip("the platform delivers nothing twice to a running adapter");
    platform.say(platform.direct, "only once");
    const { eventKey } = await host.heard("only once");
    platform.redeliver();
    platform.say(platform.direct, "the next");
    await host.heard("the next");
    const keys = host.received.filter((message) => message.text === "only once").map((message) => message.eventKey);
    expect(new Set(keys)).toEqual(new Set([eventKey]));
  });

  test("what was missed in a gap can be asked for", async (context) => {
    const { platform, link, host } = await start(await open());
    const unheard = observer(context, {
      what: "missed messages to ask for",
      link: link.missedSince,
      fake: platform.sayUnheard?.bind(platform),
    });
    platform.say(platform.direct, "heard");
    const heard = await host.heard("heard");
    unheard(platform.direct, "not heard, one");
    unheard(platform.direct, "not heard, two");
    const missed = (await link.missedSince?.(Date.now() - 60_000)) ?? [];
    const texts = missed.map((message) => message.text);
    expect(texts.filter((line) => line.startsWith("not heard"))).toEqual(["not heard, one", "not heard, two"]);
    expect(missed.every((message) => message.from.chat.id === platform.direct.chat.id)).toBe(true);
    const again = missed.find((message) => message.text === "heard");
    if (again) expect(again.eventKey).toBe(heard.eventKey);
  });
}

/** Tests of acts of the bot beside plain text. */
export function outboundFeatures({ expect, test }: TestRunner, open: Open): void {
  test("Markdown is taken in the platform's own format, in as many messages as it takes", async () => {
    const { platform, link } = await start(await open());
    const { limits } = platform.adapter;
    const line = "A line with **bold**, _slanted_, `code` & a [link](https://example.org/a_b?c=1&d=2) <here>.";
    const code = `\`\`\`js\nif (a < b && c) return "x";\n\`\`\``;
    const table = "| a | b |\n|---|---|\n| 1 | 2 |";
    const paragraphs = Array.from(
      { length: Math.ceil((limits.text * 2) / line.length) },
      (_, index) => `${index}: ${line}`,
    );
    const parts = await renderText([code, table, "> quoted", "- item", ...paragraphs].join("\n\n"), limits);
    expect(parts.length).toBeGreaterThan(1);
    for (const [index, part] of parts.entries()) {
      const sent = await link.send(platform.direct, part, { idempotencyKey: `long#${index}` });
      expect(sent).toMatchObject({ kind: "sent" });
    }
    const shown = platform.shown(platform.direct);
    expect(shown).toHaveLength(parts.length);
    for (const body of shown) expect(body.length).toBeLessThanOrEqual(limits.text);
    for (const index of paragraphs.keys()) expect(shown.join("\n")).toContain(`${index}: A line`);
  });

  test("an answer quotes the message that it answers", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.answers) return context.skip("the platform has no replies");
    platform.say(platform.direct, "question");
    const { id } = await host.heard("question");
    await link.send(platform.direct, text("answer"), { ...key, replyTo: id });
    await link.send(platform.direct, text("remark"), { idempotencyKey: "reply-2" });
    expect(platform.answers(platform.direct)).toEqual([id, undefined]);
  });

  test("people see that the bot is typing", async (context) => {
    const { platform, host, link } = await start(await open());
    const typed = observer(context, { what: "typing", link: link.typing, fake: platform.typed?.bind(platform) });
    const where = platform.typedIn ?? platform.direct;
    // Some platforms show the typing signal only in a chat that wrote.
    platform.say(where, "are you there?");
    await host.heard("are you there?");
    await link.typing?.(where);
    await expect.poll(() => typed(where)).toBeGreaterThan(0);
  });

  test("a reaction is put, put again and taken away", async (context) => {
    const { platform, host, link } = await start(await open());
    const shown = observer(context, { what: "reactions", link: link.react, fake: platform.reactions?.bind(platform) });
    platform.say(platform.direct, "react to me");
    const { id } = await host.heard("react to me");
    for (const _ of [1, 2]) expect(await link.react?.(platform.direct, id, "👀")).toMatchObject({ kind: "sent" });
    expect(shown(platform.direct, id)).toEqual(["👀"]);
    for (const _ of [1, 2]) expect(await link.react?.(platform.direct, id, undefined)).toMatchObject({ kind: "sent" });
    expect(shown(platform.direct, id)).toEqual([]);
  });

  test("a send with one key shows once", async (context) => {
    const { platform, link } = await start(await open());
    if (platform.knowsKeys !== true) return context.skip("the platform takes no keys");
    const first = await link.send(platform.direct, text("once"), key);
    expect(await link.send(platform.direct, text("once"), key)).toEqual(first);
    expect(platform.shown(platform.direct)).toEqual(["once"]);
  });

  test("the platform can be asked what became of a send", async (context) => {
    const { platform, link } = await start(await open());
    if (!link.find || !platform.failSends)
      return context.skip("the platform cannot be asked, or nothing gets lost there");
    platform.failSends("lost");
    const lost = { idempotencyKey: "lost#0" };
    await link.send(platform.direct, text("did it arrive"), lost);
    expect((await link.find(platform.direct, text("did it arrive"), lost)).kind).toBe("sent");
    const below = { idempotencyKey: "below#0", replyTo: platform.say(platform.direct, "a question") };
    platform.failSends("lost");
    await link.send(platform.direct, text("its answer"), below);
    expect((await link.find(platform.direct, text("its answer"), below)).kind).toBe("sent");
    platform.failSends("dropped");
    const dropped = { idempotencyKey: "dropped#0" };
    await link.send(platform.direct, text("this did not"), dropped);
    expect((await link.find(platform.direct, text("this did not"), dropped)).kind).toMatch(/^(?:retry|unknown)$/);
  });
}
