import { expect, test } from "vitest";
import { mediaLines } from "../../src/prompt/body.ts";
import { sentFilesIn } from "../../src/sessions/shown/sent-files.ts";
import type { ImageContent } from "../../src/types/run/model.ts";

const ID = "abcdefghijkmnopqrstuvwxyz0";
const dot: ImageContent = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };

/** A message of a transcript whose files only the lines for the model name. */
const older = (lines: readonly string[], images: readonly ImageContent[] = []) =>
  sentFilesIn({
    role: "user",
    content: [{ type: "text", text: [...lines, "look"].join("\n") }, ...images],
    timestamp: 1,
  });

const at = (end: string) => `/home/ada/.openclaw/media/${ID}${end}`;

test("the files of an older message are read from the lines that name them to the model", () => {
  const lines = mediaLines(
    [
      { path: at("-报告-2.pdf"), mime: "application/pdf", kind: "document" },
      { path: at(".png"), mime: "image/png", kind: "image", url: "https://a.example/x?y=(1)" },
      { path: at("-song.mp3"), mime: "audio/mpeg", kind: "audio", durationSeconds: 3 },
    ],
    [{ kind: "video", name: "lost.mp4", why: "it is too large" }],
  );
  expect(older(lines, [dot])).toEqual({
    media: [
      {
        url: `media://inbound/${ID}-报告-2.pdf`,
        kind: "document",
        contentType: "application/pdf",
        fileName: "报告-2.pdf",
      },
      { url: `media://inbound/${ID}.png`, kind: "image", contentType: "image/png" },
      { url: `media://inbound/${ID}-song.mp3`, kind: "audio", contentType: "audio/mpeg", fileName: "song.mp3" },
    ],
    mediaImageLayout: { slots: [{ kind: "inline", factIndex: 1 }] },
  });
  const one = mediaLines([{ path: at("-a.txt"), kind: "document" }], []);
  expect(older(one)).toEqual({ media: [{ url: `media://inbound/${ID}-a.txt`, kind: "document", fileName: "a.txt" }] });
});

test.each([
  ["no line", []],
  ["a file elsewhere", ["[media attached: /etc/passwd (text/plain)]"]],
  ["a line after the text", ["hello", `[media attached: ${at(".png")}]`]],
])("a message with %s has no files", (_what, lines) => {
  expect(older(lines)).toBeUndefined();
});

test("what a message notes of its files counts, and a note of another form does not", () => {
  const media = [{ url: `media://inbound/${ID}.png`, kind: "image", fileName: "dot.png", sizeBytes: 8 }];
  const noted = { role: "user" as const, content: "look", timestamp: 1 };
  expect(sentFilesIn({ ...noted, __openclaw: { media } })).toEqual({ media });
  const odd: object = { media: [{ path: 5 }] };
  expect(sentFilesIn({ ...noted, __openclaw: odd })).toBeUndefined();
});
