import { crc32, deflateSync } from "node:zlib";

/** Pixels, row by row, with one byte for each channel. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  /** Grey, red-green-blue, or red-green-blue with transparency. */
  readonly channels: 1 | 3 | 4;
}

const COLOUR_TYPES = { 1: 0, 3: 2, 4: 6 } as const;
const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

/** The pixels as a PNG file. */
export function toPng({ data, width, height, channels }: Pixels): Uint8Array {
  const stride = width * channels;
  const rows = Buffer.alloc((stride + 1) * height);
  for (let row = 0; row < height; row += 1)
    rows.set(data.subarray(row * stride, (row + 1) * stride), row * (stride + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  header.writeUInt8(COLOUR_TYPES[channels], 9);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...parts]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const made = Buffer.alloc(body.byteLength + 8);
  made.writeUInt32BE(data.byteLength, 0);
  made.set(body, 4);
  made.writeUInt32BE(crc32(body), body.byteLength + 4);
  return made;
}

/** Pixels at each side of a cell, and cells of the light frame that readers need. */
const CELL = 6;
const QUIET = 4;

/** A QR code as a picture: `rows` of `1` (dark) and `0`, without its frame. */
export function qrPng(rows: readonly string[]): Uint8Array {
  const width = (rows.length + 2 * QUIET) * CELL;
  const data = new Uint8Array(width * width).fill(255);
  for (const [y, row] of rows.entries())
    for (let x = 0; x < row.length; x += 1) {
      if (row[x] !== "1") continue;
      for (let line = 0; line < CELL; line += 1) {
        const at = ((y + QUIET) * CELL + line) * width + (x + QUIET) * CELL;
        data.fill(0, at, at + CELL);
      }
    }
  return toPng({ data, width, height: width, channels: 1 });
}
