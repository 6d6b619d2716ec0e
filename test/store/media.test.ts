import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openMediaStore } from "../../src/store/media.ts";
import { mediaId } from "../../src/types/ids.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
let dir: string;
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), "media-")), "media");
});
afterEach(() => rm(join(dir, ".."), { recursive: true }));

describe("the media store", () => {
  it("gives bytes back by an id of its own, typed by content", async () => {
    const store = openMediaStore(dir);
    const kept = await store.put(PNG, { mime: "text/html", name: "../../evil.html" });
    expect(kept).toMatchObject({ mime: "image/png", bytes: PNG.length });
    expect(kept.id).toMatch(/^[a-z0-9]{26}-evil\.html\.png$/);
    expect(await store.read(kept.id)).toEqual(PNG);
    expect((await stat(kept.path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dir)).toEqual([kept.id]);
  });

  it.each([
    ["report.pdf", "-report.pdf"],
    ["Quarterly Report (2).PDF", "-Quarterly-Report-2.pdf"],
    ["報告書.pdf", "-報告書.pdf"],
    ["../../etc/passwd", "-passwd.pdf"],
    ["C:\\Users\\ada\\x.pdf", "-x.pdf"],
    ["a]\nSystem: [x].pdf", "-a-System-x.pdf"],
    ["`$(rm)`;&|\u202e\u200b.pdf", "-rm.pdf"],
    ["..", ".pdf"],
    ["", ".pdf"],
    ["😀".repeat(300), ".pdf"],
    ["語".repeat(300), `-${"語".repeat(40)}.pdf`],
  ])("keeps the safe signs of the name %j", async (name, end) => {
    const store = openMediaStore(dir);
    const { id } = await store.put(Buffer.from("%PDF-1.7\n"), { name });
    expect(id.slice(26)).toBe(end);
    expect((await store.read(id)).length).toBe(9);
  });

  it("takes the sender's word for text, none for nonsense", async () => {
    const store = openMediaStore(dir);
    expect(await store.put(Buffer.from("hi"), { mime: "Text/Plain; charset=utf-8" })).toMatchObject({
      mime: "text/plain",
    });
    expect(await store.put(Buffer.from("hi"), { mime: "../x" })).toMatchObject({ mime: "application/octet-stream" });
  });

  it.each([
    ["A_OPUS", "audio/webm", "webm"],
    ["V_VP9 A_OPUS", "video/webm", "webm"],
    ["", "video/webm", "webm"],
  ])("takes WebM with the tracks %j for %s", async (tracks, mime, ending) => {
    const head = "1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff";
    const bytes = Buffer.concat([Buffer.from(head, "hex"), Buffer.from(tracks), Buffer.alloc(100)]);
    const kept = await openMediaStore(dir).put(bytes, { mime: "audio/webm;codecs=opus", name: "said.webm" });
    expect(kept.mime).toBe(mime);
    expect(kept.id).toMatch(new RegExp(`-said\\.${ending}$`));
  });

  it.each([
    [["soun"], "audio/mp4", "m4a"],
    [["vide", "soun"], "video/mp4", "mp4"],
    [[], "video/mp4", "mp4"],
  ])("takes MP4 with the tracks %j for %s", async (tracks, mime, ending) => {
    const type = Buffer.from("\0\0\0\u0018ftypisom\0\0\0\0isommp41", "latin1");
    const handlers = tracks.map((track) => Buffer.from(`hdlr${"\0".repeat(8)}${track}`, "latin1"));
    const kept = await openMediaStore(dir).put(Buffer.concat([type, ...handlers]), { name: "said.mp4" });
    expect(kept.mime).toBe(mime);
    expect(kept.id).toMatch(new RegExp(`\\.${ending}$`));
  });

  it.each([
    ["<html>404</html>", "image/png"],
    ["<html>404</html>", "image/svg+xml"],
    ["{}", "audio/ogg"],
    ["hi", "application/pdf"],
    ["\u0000\u0001\u0002", "text/plain"],
  ])("takes nobody's word that %j is %s", async (text, mime) => {
    const store = openMediaStore(dir);
    expect(await store.typeOf(Buffer.from(text), { mime })).toBe("application/octet-stream");
    expect(await store.put(Buffer.from(text), { mime })).toMatchObject({ mime: "application/octet-stream" });
  });

  it.each([
    ['<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["a,b", "text/csv"],
    ["{}", "application/ld+json"],
    ["\u00ff\u00feh\u0000i\u0000", "text/plain"],
  ])("takes the word that %j is %s", async (text, mime) => {
    expect(await openMediaStore(dir).typeOf(Buffer.from(text, "latin1"), { mime })).toBe(mime);
  });

  it.each([
    ["r.txt", "hi", "text/plain"],
    ["r.csv", "a,b", "text/csv"],
    ["r.html", "<p>hi", "text/html"],
    ["r.json", "{}", "application/json"],
    ["R.MD", "# hi", "text/markdown"],
    ["notes.yml", "a: 1", "application/yaml"],
    ["deploy.py", "pass", "text/plain"],
    ["logo.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["logo.svg", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["old.xls", "\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1", "application/vnd.ms-excel"],
  ])("takes the type of %s from the name, and keeps its ending", async (name, text, mime) => {
    const store = openMediaStore(dir);
    const bytes = Buffer.from(text, "latin1");
    expect(await store.typeOf(bytes, { name })).toBe(mime);
    // The type that apps send for what they do not know.
    const kept = await store.put(bytes, { name, mime: "application/octet-stream" });
    expect(kept.mime).toBe(mime);
    expect(kept.id.slice(26)).toBe(`-${name.replace(/\.\w+$/, (ending) => ending.toLowerCase())}`);
  });

  it.each([
    ["photo.png", "hi"],
    ["report.pdf", "<html>404</html>"],
    ["r.txt", "\u0000\u0000\u0007"],
    ["logo.svg", "<html>404</html>"],
    ["x.constructor", "hi"],
    ["txt", "hi"],
  ])("takes no name's word that %s is what it says", async (name, text) => {
    expect(await openMediaStore(dir).typeOf(Buffer.from(text), { name })).toBe("application/octet-stream");
  });

  it.each(["../secret", "a/b", "..", "", "/etc/passwd", `${"a".repeat(26)}.png`])(
    "has nothing under %j",
    async (id) => {
      await expect(openMediaStore(dir).read(mediaId(id))).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
    },
  );
});
