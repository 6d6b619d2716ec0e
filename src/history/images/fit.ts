import type { ImageLimits } from "../../providers/quirks.ts";
import type { ImageContent } from "../../types/run/model.ts";
import { isCutOff, measure, MOST_SIDE } from "./measure.ts";
import type { Resize } from "./resize.ts";

/** The limits of an image in a request. */
export interface ImageRules {
  readonly limits: ImageLimits;
  /** Pixels of the longest side. More are not worth their tokens. */
  readonly maxSide: number;
}

/**
 * The image of these bytes that the model accepts: unchanged, or made smaller if a resizer is there. Undefined when neither is
 * possible. Rejects when the bytes are broken.
 */
export async function fitImage(
  bytes: Uint8Array,
  { limits, maxSide }: ImageRules,
  resize: Resize | undefined,
): Promise<ImageContent | undefined> {
  const found = measure(bytes);
  if (found && isCutOff(bytes, found)) throw new Error("its end is missing");
  const most = Math.floor(limits.each / 4) * 3;
  const side = found ? Math.max(found.width, found.height) : Number.POSITIVE_INFINITY;
  const isTaken = found !== undefined && isType(found.mimeType, limits) && bytes.byteLength <= most;
  const longest = Math.min(limits.side ?? MOST_SIDE, resize ? maxSide : Number.POSITIVE_INFINITY);
  if (isTaken && side <= longest) return content(bytes, found.mimeType);
  const made = await resize?.(bytes, { maxSide: Math.min(maxSide, limits.side ?? maxSide), maxBytes: most });
  return made && isType(made.mimeType, limits) ? content(made.bytes, made.mimeType) : undefined;
}

const isType = (mimeType: string, { types }: ImageLimits): boolean => types?.includes(mimeType) !== false;

const content = (bytes: Uint8Array, mimeType: string): ImageContent => ({
  type: "image",
  data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  mimeType,
});
