import { afterEach, expect, test } from "vitest";
import { start, stopAll } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import type { OutboundText } from "../../../src/types/chat/reply.ts";

afterEach(stopAll);

const html = (body: string, plain = body): OutboundText => ({ kind: "text", body, plain, format: "telegram-html" });

async function begin() {
  const platform = await telegramPlatform();
  const started = await start(platform);
  const { fake, direct, group } = platform;
  const drafts = () => fake.sent.filter(({ method }) => method === "sendMessageDraft");
  const open = (to = direct, key = "preview:7") => started.link.stream?.(to, { key });
  return { ...started, fake, direct, group, drafts, open };
}

test("a streamed answer is one draft of a direct chat, in HTML", async () => {
  const { fake, drafts, open } = await begin();
  const stream = open();
  expect(stream).toMatchObject({ isMessage: false });
  expect(await stream?.show(html("<b>one</b>", "one"), "**one**")).toMatchObject({ kind: "sent" });
  await stream?.show(html("<b>one</b> two", "one two"), "**one** two");
  expect(fake.draft(1001)).toBe("one two");
  expect(fake.shown(1001)).toEqual([]);
  const [first, second] = drafts();
  expect(first?.body).toMatchObject({ chat_id: 1001, parse_mode: "HTML", text: "<b>one</b>" });
  expect(first?.body["draft_id"]).toBe(second?.body["draft_id"]);
});

test("a draft has the same id after a restart, and another answer has another id", async () => {
  const { drafts, open } = await begin();
  for (const key of ["preview:7", "preview:7", "preview:8"]) await open(undefined, key)?.show(html("one"), "one");
  const ids = drafts().map(({ body }) => body["draft_id"]);
  expect(ids[0]).toBe(ids[1]);
  expect(ids[2]).not.toBe(ids[0]);
});

test("a draft is shown again before it disappears", async () => {
  const { drafts, open } = await begin();
  const stream = open();
  expect(stream?.keepAliveMs).toBeLessThan(30_000);
  await stream?.show(html("one"), "one");
  expect(await stream?.keepAlive()).toMatchObject({ kind: "sent" });
  expect(drafts().map(({ text }) => text)).toEqual(["one", "one"]);
});

test("markup that Telegram cannot parse is shown as plain text", async () => {
  const { fake, open } = await begin();
  expect(await open()?.show(html("<b>one", "one"), "**one")).toMatchObject({ kind: "sent" });
  expect(fake.draft(1001)).toBe("one");
});

test("a topic of a direct chat has its own draft", async () => {
  const { direct, drafts, open } = await begin();
  await open({ ...direct, thread: "5" })?.show(html("one"), "one");
  expect(drafts()[0]?.body).toMatchObject({ message_thread_id: 5 });
});

test("groups have no drafts, nor do chats that are known by name", async () => {
  const { direct, group, open } = await begin();
  expect(open(group)).toBeUndefined();
  expect(open({ ...direct, chat: { kind: "direct", id: "@ada" } })).toBeUndefined();
});

test.each(["unknown", "refused"] as const)("a server to which drafts are %s is not asked again", async (how) => {
  const { fake, drafts, open, host } = await begin();
  const stream = open();
  fake.drafts = how;
  expect(await stream?.show(html("one"), "one")).toMatchObject({ kind: "refused" });
  expect(open()).toBeUndefined();
  expect(drafts()).toHaveLength(1);
  expect(host.lines.some((line) => line.includes("drafts"))).toBe(true);
});

test("an error without a description is a refusal too", async () => {
  const { fake, open } = await begin();
  fake.fail("sendMessageDraft", "bare");
  expect(await open()?.show(html("one"), "one")).toMatchObject({ kind: "refused" });
});

test("a refusal in one chat does not affect others; a 429 has its wait", async () => {
  const { fake, open } = await begin();
  fake.fail("sendMessageDraft", "403");
  expect(await open()?.show(html("one"), "one")).toMatchObject({ kind: "refused" });
  fake.fail("sendMessageDraft", "429", 1, 3);
  expect(await open()?.show(html("one"), "one")).toMatchObject({ kind: "retry", afterMs: 3000, rateLimited: true });
  expect(await open()?.show(html("one"), "one")).toMatchObject({ kind: "sent" });
});
