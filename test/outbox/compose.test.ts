import { expect, it } from "vitest";
import * as fc from "fast-check";
import { composeReply } from "../../src/outbox/compose.ts";
import { partText } from "../../src/outbox/render.ts";
import type { ChannelLimits } from "../../src/types/chat/channel.ts";
import { mediaId } from "../../src/types/ids.ts";
import type { MediaItem, MediaKind } from "../../src/types/chat/message.ts";
import type { OutboundPart, ReplyBlock } from "../../src/types/chat/reply.ts";

const LIMITS: ChannelLimits = {
  text: 100,
  format: "plain",
  media: 1000,
  caption: { text: 60, not: ["sticker"] },
  album: { files: 3, bytes: 100, sortOf: ({ kind }) => (kind === "video" ? "image" : kind) },
};
const WHOLE = { hasPreview: false, hasButtons: false };

const item = (name: string, kind: MediaKind = "image", bytes = 1): MediaItem => ({
  kind,
  name,
  bytes,
  source: { at: "store", id: mediaId(name) },
});
const file = (...of: Parameters<typeof item>): ReplyBlock => ({ kind: "media", media: item(...of) });
const text = (markdown: string): ReplyBlock => ({ kind: "text", markdown });

/** A message in short: its words, then the names of its files. */
const short = (part: OutboundPart): string =>
  part.kind === "text"
    ? part.plain
    : [partText(part), ...[part.media, ...(part.more ?? [])].map(({ name }) => name)].join("|");

const compose = async (blocks: readonly ReplyBlock[], apart = {}, limits: Partial<ChannelLimits> = {}) =>
  (await composeReply(blocks, { ...LIMITS, ...limits }, { ...WHOLE, ...apart })).map(short);

const PAIR = [text("look"), file("a"), file("b")];

it.each([
  ["text and files", PAIR, ["look|a|b"]],
  ["a text behind its file", [file("a"), text("look")], ["|a", "look"]],
  ["each text above its own file", [text("one"), file("a"), text("two"), file("b")], ["one|a", "two|b"]],
  ["only the last of two texts", [text("one"), text("two"), file("a")], ["one", "two|a"]],
  ["a text that is too long below a file", [text("x".repeat(70)), file("a")], ["x".repeat(70), "|a"]],
  ["a file that has no caption", [text("look"), file("s", "sticker")], ["look", "|s"]],
  ["a warning", [{ kind: "notice", markdown: "careful", because: "error" } as const, file("a")], ["careful", "|a"]],
  ["files of two sorts", [file("a"), file("v", "video"), file("d", "document")], ["|a|v", "|d"]],
  ["more files than an album has", ["a", "b", "c", "d"].map((name) => file(name)), ["|a|b|c", "|d"]],
  ["more bytes than an album has", [file("a", "image", 60), file("b", "image", 60)], ["|a", "|b"]],
  ["voice notes", [file("a", "voice"), file("b", "voice")], ["|a", "|b"]],
])("%s", async (_what, blocks, messages) => {
  expect(await compose(blocks)).toEqual(messages);
});

it("what takes the place of a preview stays a text; buttons keep files apart", async () => {
  expect(await compose(PAIR, { hasPreview: true })).toEqual(["look", "|a|b"]);
  expect(await compose(PAIR, { hasButtons: true })).toEqual(["look|a", "|b"]);
});

it("a platform without captions or albums gets one message each", async () => {
  expect(await composeReply(PAIR, { text: 100, format: "plain", media: 1 }, WHOLE)).toHaveLength(3);
});

it("nothing is lost, doubled or moved", async () => {
  const kind = fc.constantFrom<MediaKind>("image", "video", "audio", "voice", "sticker", "document");
  const block = fc.oneof(
    fc.integer({ min: 1, max: 30 }).map((words) => text("word ".repeat(words))),
    fc.record({ of: kind, bytes: fc.integer({ min: 1, max: 80 }) }).map(({ of, bytes }) => file(of, of, bytes)),
  );
  const flat = (parts: readonly OutboundPart[]) =>
    parts.flatMap((part) => [
      ...partText(part).split(" "),
      ...(part.kind === "media" ? [part.media, ...(part.more ?? [])].map(({ name }) => name) : []),
    ]);
  await fc.assert(
    fc.asyncProperty(fc.array(block, { maxLength: 12 }), fc.boolean(), fc.boolean(), async (blocks, first, second) => {
      const apart = { hasPreview: first, hasButtons: second };
      const wanted = blocks.flatMap((one) =>
        one.kind === "media" ? [one.media.name] : one.markdown.trim().split(" "),
      );
      expect(flat(await composeReply(blocks, LIMITS, apart)).filter((word) => word !== "")).toEqual(wanted);
    }),
    { numRuns: 60 },
  );
});
