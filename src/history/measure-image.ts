/** The facts in the header of an image file. */
export interface Measure {
  readonly mimeType: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** The types that can be measured. */
export const MEASURED: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Pixels. No provider reads an image with a longer side. */
export const MOST_SIDE = 10_000;

/** Whether the end of a PNG or WebP is missing. Providers refuse the whole request for it. False for anything else. */
export function isCutOff(bytes: Uint8Array, { mimeType }: Measure): boolean {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (mimeType === "image/png") return data.lastIndexOf("IEND", undefined, "latin1") < 0;
  return mimeType === "image/webp" && data.readUInt32LE(4) + RIFF_HEAD > data.byteLength;
}

/** Bytes before the bytes that the size of a RIFF file counts. */
const RIFF_HEAD = 8;

/** Reads type and size of a PNG, JPEG, GIF or WebP. Undefined for anything else and for broken headers. Never throws. */
export function measure(bytes: Uint8Array): Measure | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const found = FORMATS.find(({ begins }) => begins(view))?.read(view);
    return found && found.width > 0 && found.height > 0 ? found : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

interface Format {
  begins(view: DataView): boolean;
  read(view: DataView): Measure | undefined;
}

const FORMATS: readonly Format[] = [
  {
    begins: (view) => startsWith(view, 0, "\u0089PNG\r\n") && startsWith(view, 12, "IHDR"),
    read: (view) => ({ mimeType: "image/png", width: view.getUint32(16), height: view.getUint32(20) }),
  },
  {
    begins: (view) => startsWith(view, 0, "GIF8"),
    read: (view) => ({ mimeType: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) }),
  },
  { begins: (view) => startsWith(view, 0, "RIFF") && startsWith(view, 8, "WEBP"), read: readWebp },
  { begins: (view) => startsWith(view, 0, "\u00ff\u00d8\u00ff"), read: readJpeg },
];

const startsWith = (view: DataView, at: number, letters: string): boolean =>
  view.byteLength >= at + letters.length &&
  Buffer.from(view.buffer, view.byteOffset + at, letters.length).toString("latin1") === letters;

function readWebp(view: DataView): Measure | undefined {
  const size = webpSize(view);
  return size && { mimeType: "image/webp", ...size };
}

function webpSize(view: DataView): { width: number; height: number } | undefined {
  const u24 = (at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
  if (startsWith(view, 12, "VP8X")) return { width: u24(24) + 1, height: u24(27) + 1 };
  if (startsWith(view, 12, "VP8 "))
    return { width: view.getUint16(26, true) % 16_384, height: view.getUint16(28, true) % 16_384 };
  if (!startsWith(view, 12, "VP8L")) return undefined;
  const bits = view.getUint32(21, true);
  return { width: (bits % 16_384) + 1, height: (Math.floor(bits / 16_384) % 16_384) + 1 };
}

/** The frame headers of all kinds of JPEG, without the tables C4, C8 and CC. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function readJpeg(view: DataView): Measure | undefined {
  for (let at = 2; at < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (isFrame(marker))
      return { mimeType: "image/jpeg", height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    // Fill bytes may come before a marker.
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}
