import { crc32, deflateSync } from "node:zlib";

/** Pixels, row by row. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  /** Grey, red-green-blue, or that with transparency. */
  readonly channels: 1 | 3 | 4;
}

const COLOUR_TYPES = { 1: 0, 3: 2, 4: 6 } as const;
const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

/** Every nth pixel, so that no more than `most` are left. */
export function thinned(pixels: Pixels, most: number): Pixels {
  const { data, width, height, channels } = pixels;
  const step = Math.ceil(Math.sqrt((width * height) / Math.max(1, most)));
  if (step <= 1) return pixels;
  const [columns, rows] = [Math.floor(width / step), Math.floor(height / step)];
  const made = new Uint8Array(columns * rows * channels);
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const from = (row * step * width + column * step) * channels;
      for (let channel = 0; channel < channels; channel += 1) made[at++] = data[from + channel] ?? 0;
    }
  }
  return { data: made, width: columns, height: rows, channels };
}

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
