import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measure } from "../../../src/history/measure-image.ts";
import { absolutePath, findImagePaths } from "../../../src/history/images/paths.ts";
import { HEADS, png } from "../../kit/pictures.ts";
import { processorTime } from "../../kit/processor-time.ts";

const paths = (text: string) => findImagePaths(text).map(({ path }) => path);

describe("paths of images in a text", () => {
  it.each([
    ["look at /tmp/a.png please", ["/tmp/a.png"]],
    ["~/b.JPG, ./c.webp and ../d.gif.", ["~/b.JPG", "./c.webp", "../d.gif"]],
    ["(see ./e.heic) or `./f.tiff`", ["./e.heic", "./f.tiff"]],
    ['open "/with space/g h.jpeg" now', ["/with space/g h.jpeg"]],
    ["file:///tmp/i%20j.png", ["file:///tmp/i%20j.png"]],
    ["[media attached: /m/x (1).png (image/png)]\nhello", ["/m/x (1).png"]],
    ["[media attached: 2 files]\n[media attached 1/2: /m/1.bin (image/jpeg) | https://a/b.png]", ["/m/1.bin"]],
    ["[media attached 2/2: /m/2.png (application/pdf)]", []],
    ["[Image: source: /tmp/shot.png]", ["/tmp/shot.png"]],
    ["media://inbound/abc.png", ["media://inbound/abc.png"]],
    ["/a.png twice: /a.png", ["/a.png"]],
    ["https://example.org/a.png http://x/y.jpg //cdn/z.png", []],
    ["and/or.png notes.png /tmp/a.pngx /tmp/a.txt", []],
    ["[media attached: https://a/b.png (image/png)]", []],
  ])("%s", (text, expected) => expect(paths(text)).toEqual(expected));

  it("come from notes and from words in their order", () => {
    expect(findImagePaths("/a.png\n[media attached: /b.png (image/png)] /c.png")).toEqual([
      { path: "/a.png", noted: false },
      { path: "/b.png", noted: true },
      { path: "/c.png", noted: false },
    ]);
  });

  it("are few and quickly found in any text", () => {
    const spent = processorTime(() => {
      expect(paths("/a".repeat(50_000))).toEqual([]);
      expect(paths("[media attached: ".repeat(20_000))).toEqual([]);
      expect(paths(`"/${"a ".repeat(50_000)}`)).toEqual([]);
      expect(paths(Array.from({ length: 100 }, (_, n) => `/${n}.png`).join(" "))).toHaveLength(20);
    });
    expect(spent).toBeLessThan(1000);
  });

  it("mean a file below the workspace, the home or the received files", () => {
    const places = { workspace: "/w", home: "/h", media: "/m" };
    const meant = (path: string) => absolutePath(path, places);
    expect(["./a.png", "~/a.png", "/x/a.png", "media://a.png", "media://inbound/a.png"].map(meant)).toEqual([
      "/w/./a.png",
      "/h/a.png",
      "/x/a.png",
      "/m/a.png",
      "/m/a.png",
    ]);
    expect(meant("file:///x/a%20b.png")).toBe("/x/a b.png");
    for (const odd of ["file://host/a.png", "file:///%zz.png", "ftp://x/a.png", "/a\0.png"])
      expect(meant(odd)).toBeUndefined();
  });
});

describe("the head of an image", () => {
  it("returns its type and size", () => {
    expect(measure(png(320, 240))).toEqual({ mimeType: "image/png", width: 320, height: 240 });
    for (const [kind, head] of Object.entries(HEADS)) {
      const mimeType = kind.startsWith("lossy") || kind.startsWith("lossless") ? "image/webp" : `image/${kind}`;
      expect(measure(head), kind).toEqual({ mimeType, width: 320, height: 240 });
    }
  });

  it("is unknown when it is cut off or of no image", () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.constantFrom(...Object.values(HEADS), png(1, 1)),
        fc.nat(40),
        (noise, head, cut) => {
          measure(noise);
          const found = measure(head.subarray(0, cut));
          expect(found === undefined || found.width > 0).toBe(true);
          measure(Buffer.concat([head.subarray(0, cut), noise]));
        },
      ),
    );
    expect(measure(Buffer.from("<svg/>"))).toBeUndefined();
  });
});
