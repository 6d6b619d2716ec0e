import type { TestRunner } from "../runner.ts";
import type { TestContext } from "vitest";
import { composeReply } from "../../src/outbox/compose.ts";
import { labelled } from "../../src/outbox/render.ts";
import { mediaId } from "../../src/types/ids.ts";
import type { MediaItem } from "../../src/types/chat/message.ts";
import type { OutboundPart, ReplyBlock } from "../../src/types/chat/reply.ts";
import { PNG } from "./picture.ts";
import type { AnyPlatform } from "./platform.ts";
import { start, text } from "./running.ts";
import type { Running } from "./running.ts";

type Open = () => Promise<AnyPlatform>;

const key = { idempotencyKey: "reply-1" };
const picture = (name: string): MediaItem => ({
  kind: "image",
  mime: "image/png",
  name,
  bytes: PNG.length,
  source: { at: "store", id: mediaId(name) },
});
const files = (...names: readonly string[]): readonly ReplyBlock[] =>
  names.map((name) => ({ kind: "media", media: picture(name) }));

/** A platform that takes the pictures of these names. */
async function begin(open: Open, context: TestContext, names: readonly string[]) {
  const running = await start(await open());
  const { files: sent, albums } = running.platform;
  if (!sent) return context.skip("the platform takes no files");
  for (const name of names) running.host.media.set(name, PNG);
  if (!albums) throw new Error("the fake platform takes files, but cannot show which were one message");
  return { ...running, files: sent, albums };
}

/** Sends a reply as the outbox would. Throws when a part is not sent. */
async function sendReply({ link, platform }: Running, blocks: readonly ReplyBlock[]): Promise<void> {
  const parts = await composeReply(blocks, platform.adapter.limits, { hasPreview: false, hasButtons: false });
  for (const [index, part] of parts.entries()) {
    const sent = await link.send(platform.direct, part, { idempotencyKey: `reply#${index}` });
    if (sent.kind !== "sent") throw new Error(`part ${index} of the reply is not sent: ${sent.reason}`);
  }
}

const words = (shown: readonly string[]): readonly string[] => shown.filter((line) => line !== "");

/** Files that go out, with text and with each other. */
export function mediaFeatures({ expect, test }: TestRunner, open: Open): void {
  test("a file goes out with its caption", async (context) => {
    const { platform, link, files: sent } = await begin(open, context, ["dot.png"]);
    const part: OutboundPart = { kind: "media", media: picture("dot.png"), caption: text("a dot") };
    expect(await link.send(platform.direct, part, key)).toMatchObject({ kind: "sent" });
    const [file] = sent(platform.direct);
    expect(Buffer.from(file?.bytes ?? []).equals(PNG)).toBe(true);
    expect([file?.caption, ...platform.shown(platform.direct)]).toContain("a dot");
    const gone = await link.send(platform.direct, { kind: "media", media: picture("gone.png") }, key);
    expect(gone).toMatchObject({ kind: "refused" });
  });

  test("a text with a file is one message, in the platform's format, and its repeat says so", async (context) => {
    const running = await begin(open, context, ["dot.png"]);
    const { platform, link, albums } = running;
    const { limits } = platform.adapter;
    if (!limits.caption) return context.skip("the platform has no captions");
    await sendReply(running, [{ kind: "text", markdown: "**look** at <this> & that" }, ...files("dot.png")]);
    expect(albums(platform.direct)).toEqual([1]);
    const [shown, ...more] = words(platform.shown(platform.direct));
    expect(more).toEqual([]);
    expect(shown).toMatch(/^\W*look\W* at .*this.* that$/);
    const again = { kind: "media", media: picture("dot.png"), caption: text("once more") } as const;
    await link.send(platform.direct, labelled(again), { idempotencyKey: "again#0" });
    expect(words(platform.shown(platform.direct)).at(-1)).toBe("(possible repeat) once more");
  });

  test("a text that is too long for a caption goes before its file, whole", async (context) => {
    const running = await begin(open, context, ["dot.png"]);
    const { platform, albums } = running;
    const { text: most, caption } = platform.adapter.limits;
    if (!caption) return context.skip("the platform has no captions");
    const line = "word ".repeat(Math.ceil((Math.min(most, caption.text) + 1) / 5)).trim();
    await sendReply(running, [{ kind: "text", markdown: line }, ...files("dot.png")]);
    expect(albums(platform.direct)).toEqual([1]);
    expect(words(platform.shown(platform.direct)).join(" ")).toBe(line);
    expect(running.files(platform.direct)[0]?.caption ?? "").toBe("");
  });

  test("several files are one album, in their order, below one text", async (context) => {
    const names = ["1.png", "2.png", "3.png"];
    const running = await begin(open, context, names);
    const { platform, link, albums } = running;
    if (!platform.adapter.limits.album) return context.skip("the platform has no albums");
    await sendReply(running, [{ kind: "text", markdown: "three" }, ...files(...names)]);
    expect(albums(platform.direct)).toEqual([3]);
    expect(words(platform.shown(platform.direct))).toEqual(["three"]);
    const named = running.files(platform.direct).flatMap(({ name }) => name ?? []);
    expect([[], names]).toContainEqual(named);
    const [media, ...more] = [...names, "gone.png"].map(picture);
    const torn = await link.send(platform.direct, { kind: "media", media: media!, more }, { idempotencyKey: "torn#0" });
    expect(torn).toMatchObject({ kind: "refused", reason: expect.stringContaining("gone.png") });
    expect(albums(platform.direct)).toEqual([3]);
  });

  test("an album of as many files as the platform takes arrives", async (context) => {
    const running = await begin(open, context, []);
    const most = running.platform.adapter.limits.album?.files ?? 0;
    if (most === 0) return context.skip("the platform has no albums");
    const names = Array.from({ length: most + 1 }, (_, index) => `${index}.png`);
    for (const name of names) running.host.media.set(name, PNG);
    await sendReply(running, files(...names));
    expect(running.albums(running.platform.direct)).toEqual([most, 1]);
  });
}
