import { crc32, deflateSync } from "node:zlib";

export { PNG } from "../../testing/channel/picture.ts";

const chunk = (type: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.byteLength);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** A whole grey PNG. */
export function png(width: number, height: number, shade = 128): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width, shade)]);
  return Buffer.concat([
    Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Heads of files, as their formats say. */
export const HEADS = {
  gif: Buffer.from("GIF89a\u0040\u0001\u00f0\u0000\u0000\u0000\u0000", "latin1"),
  jpeg: Buffer.concat([
    Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10]),
    Buffer.alloc(14),
    Buffer.from([0xff, 0xff, 0xc4, 0x00, 0x04, 0, 0]),
    Buffer.from([0xff, 0xc2, 0x00, 0x11, 8, 0x00, 0xf0, 0x01, 0x40, 3]),
  ]),
  webp: Buffer.concat([
    Buffer.from("RIFF\u0000\u0000\u0000\u0000WEBPVP8X\u000a\u0000\u0000\u0000\u0000\u0000\u0000\u0000", "latin1"),
    Buffer.from([0x3f, 0x01, 0x00, 0xef, 0x00, 0x00]),
  ]),
  lossy: Buffer.concat([
    Buffer.from(
      "RIFF\u0000\u0000\u0000\u0000WEBPVP8 \u000a\u0000\u0000\u0000\u0000\u0000\u0000\u009d\u0001\u002a",
      "latin1",
    ),
    Buffer.from([0x40, 0x01, 0xf0, 0x00]),
  ]),
  lossless: Buffer.concat([
    Buffer.from("RIFF\u0000\u0000\u0000\u0000WEBPVP8L\u000a\u0000\u0000\u0000\u002f", "latin1"),
    Buffer.from([0x3f, 0xc1, 0x3b, 0x00]),
  ]),
} as const;
