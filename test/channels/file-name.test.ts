import { expect, test } from "vitest";
import { fileNameOf } from "../../src/channels/file-name.ts";

test.each([
  [{ name: "holiday.heic", mime: "image/jpeg", kind: "image" }, "holiday.heic"],
  [{ mime: "image/jpeg", kind: "image" }, "image.jpg"],
  [{ mime: "image/avif", kind: "image" }, "image.avif"],
  [{ mime: "Audio/OGG; codecs=opus", kind: "voice" }, "voice.ogg"],
  [{ mime: "audio/mpeg", kind: "audio" }, "audio.mp3"],
  [{ mime: "text/plain; charset=utf-8", kind: "document" }, "document.txt"],
  [{ mime: "application/pdf", kind: "document" }, "document.pdf"],
  [{ mime: "application/octet-stream", kind: "document" }, "document.bin"],
  [{ mime: "application/vnd.ms-excel", kind: "document" }, "document.bin"],
  [{ mime: "image/../../etc", kind: "image" }, "image.bin"],
  [{ kind: "video" }, "video.bin"],
] as const)("the file %j is sent as %s", (item, name) => {
  expect(fileNameOf(item)).toBe(name);
});
