import { afterEach, expect, test } from "vitest";
import { Host, KEY, start, stopAll, textAs } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";
import { mediaId } from "../../../src/types/ids.ts";
import type { MediaItem } from "../../../src/types/chat/message.ts";
import { sortOf } from "../send/shapes.ts";

afterEach(stopAll);
const html = textAs("telegram-html");
const item = (name: string, mime = "image/png", kind: MediaItem["kind"] = "image"): MediaItem => ({
  kind,
  mime,
  name,
  source: { at: "store", id: mediaId(name) },
});

async function begin(...names: readonly string[]) {
  const host = new Host();
  for (const name of names) host.media.set(name, new Uint8Array([1]));
  const platform = await telegramPlatform();
  const { link } = await start(platform, host);
  return { link, host, platform, ...platform };
}

const typesOf = (body: Readonly<Record<string, unknown>> | undefined): unknown =>
  Array.isArray(body?.["media"]) ? body["media"].map((one: { type: string }) => one.type) : undefined;

test("photos and videos are one album in its thread, silent, with the caption on the first file", async () => {
  const { link, fake, topic } = await begin("1.png", "2.mp4");
  const media = { kind: "media", media: item("1.png"), more: [item("2.mp4", "video/mp4", "video")] } as const;
  const caption = html("<b>both</b>", "both");
  const sent = await link.send(topic!, { ...media, caption }, { ...KEY, silent: true, replyTo: "5" });
  const [call] = fake.sent;
  expect(sent).toEqual({ kind: "sent", messageId: String(call?.messageId) });
  expect(call).toMatchObject({ method: "sendMediaGroup", chatId: "-1009", text: "<b>both</b>" });
  expect(call?.body).toMatchObject({ message_thread_id: "77", disable_notification: "true" });
  expect(typesOf(call?.body)).toEqual(["photo", "video"]);
  expect(fake.shown(-1009)).toEqual(["both", ""]);
});

test("a caption that Telegram cannot parse is sent as plain text", async () => {
  const { link, fake, direct } = await begin("1.png", "2.png");
  const part = { kind: "media", media: item("1.png"), caption: html("<b>broken", "broken") } as const;
  expect((await link.send(direct, part, KEY)).kind).toBe("sent");
  expect((await link.send(direct, { ...part, more: [item("2.png")] }, KEY)).kind).toBe("sent");
  expect(fake.shown(1001)).toEqual(["broken", "broken", ""]);
});

test("an album with a picture that Telegram refuses is sent as files", async () => {
  const { link, fake, direct } = await begin("1.png", "2.png");
  fake.fail("sendMediaGroup", "photo");
  const part = { kind: "media", media: item("1.png"), more: [item("2.png")] } as const;
  expect((await link.send(direct, part, KEY)).kind).toBe("sent");
  expect(fake.sent.map(({ body }) => typesOf(body))).toEqual([
    ["photo", "photo"],
    ["document", "document"],
  ]);
});

test("a refusal names the file, and an album that may be partly sent is not sent as files", async () => {
  const { link, fake, direct } = await begin("1.png");
  const wrong = { ...item("2.png"), source: { at: "platform", ref: "wrong-file-id" } } as const;
  const result = await link.send(direct, { kind: "media", media: item("1.png"), more: [wrong] }, KEY);
  expect(result).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(/^2\.png: .*#2 .*Wrong file identifier/),
  });
  expect(fake.sent).toHaveLength(1);
});

test.each([
  ["429", { kind: "retry", rateLimited: true, afterMs: 1000 }],
  ["lost", { kind: "unknown" }],
  ["drop", { kind: "unknown" }],
] as const)("an album that ends in %s says what became of it", async (how, outcome) => {
  const { link, fake, direct } = await begin("1.png", "2.png");
  fake.fail("sendMediaGroup", how);
  const part = { kind: "media", media: item("1.png"), more: [item("2.png")] } as const;
  expect(await link.send(direct, part, KEY)).toMatchObject(outcome);
});

test("the text below a file is edited as its caption", async () => {
  const { link, fake, direct } = await begin("1.png");
  const sent = await link.send(direct, { kind: "media", media: item("1.png"), caption: html("before") }, KEY);
  const { messageId } = sent.kind === "sent" ? sent : { messageId: "" };
  for (const _ of [1, 2])
    expect(await link.edit?.(direct, messageId, html("<i>after</i>", "after"))).toEqual({ kind: "sent", messageId });
  expect(fake.shown(1001)).toEqual(["after"]);
});

test("the kind and size of a file decide which album it may join", () => {
  const big = { ...item("b.png"), bytes: 11 * 1_048_576 };
  const sorts = [
    item("p.png"),
    item("v.mp4", "video/mp4", "video"),
    item("d.pdf", "application/pdf", "document"),
    big,
    item("s.mp3", "audio/mpeg", "audio"),
    item("g.gif", "image/gif"),
    item("s.webp", "image/webp", "sticker"),
  ].map(sortOf);
  expect(sorts).toEqual(["visual", "visual", "file", "file", "audio", undefined, undefined]);
});
