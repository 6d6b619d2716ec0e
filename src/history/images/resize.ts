/** The limits for a resized image. */
export interface ImageBounds {
  /** Longest side, pixels. */
  readonly maxSide: number;
  readonly maxBytes: number;
}

export interface ResizedImage {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

/** Makes an image small enough. Undefined when that is not possible. Rejects when the bytes are no image that it knows. */
export type Resize = (bytes: Uint8Array, bounds: ImageBounds) => Promise<ResizedImage | undefined>;

/** The part of sharp that is used. */
export interface SharpImage {
  metadata(): Promise<{ width?: number; height?: number; hasAlpha?: boolean }>;
  rotate(): SharpImage;
  resize(size: { width: number; height: number; fit: "inside"; withoutEnlargement: true }): SharpImage;
  png(options: { compressionLevel: number }): SharpImage;
  jpeg(options: { quality: number; mozjpeg: boolean }): SharpImage;
  flatten(options: { background: string }): SharpImage;
  toBuffer(): Promise<Uint8Array>;
}
export type Sharp = (input: Uint8Array, options: { limitInputPixels: number; failOn: "error" }) => SharpImage;

/** The most pixels. A larger image would fill the memory when it is decoded. */
const MOST_PIXELS = 100_000_000;
/** Shares of the longest side, and the JPEG qualities for each, tried until the file is small enough. */
const SIDES = [1, 0.75, 0.5, 0.35] as const;
const QUALITIES = [85, 70, 55, 40] as const;

/** Tries the sizes in their order. A picture with transparency stays a PNG as long as that is small enough. */
export function resizeWith(sharp: Sharp): Resize {
  return async (bytes, { maxSide, maxBytes }) => {
    const open = () => sharp(bytes, { limitInputPixels: MOST_PIXELS, failOn: "error" });
    const { hasAlpha = false } = await open().metadata();
    for (const part of SIDES) {
      const side = Math.max(1, Math.floor(maxSide * part));
      // Rotated by its orientation, because that note is lost.
      const small = () =>
        open().rotate().resize({ width: side, height: side, fit: "inside", withoutEnlargement: true });
      if (hasAlpha) {
        const png = await small().png({ compressionLevel: 9 }).toBuffer();
        if (png.byteLength <= maxBytes) return { bytes: png, mimeType: "image/png" };
      }
      for (const quality of QUALITIES) {
        const jpeg = await small().flatten({ background: "#ffffff" }).jpeg({ quality, mozjpeg: true }).toBuffer();
        if (jpeg.byteLength <= maxBytes) return { bytes: jpeg, mimeType: "image/jpeg" };
      }
    }
    return undefined;
  };
}
