import type { DrawnImage } from "../../types/media/drawing.ts";
import { requestWeb } from "../../utils/net/web-request.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { ImageAnswer, MadeImage } from "./api.ts";

/** Bytes of one image. */
const MOST_BYTES = 48 * 1024 * 1024;
/** Milliseconds in which an image that a service only names must come. */
const FETCH_MS = 60_000;

interface Opened {
  readonly images: readonly DrawnImage[];
  /** Why one of them could not be used. */
  readonly why?: string;
}

/**
 * The images of an answer. One that a service only names is fetched without its key: from the service itself, or from a public address.
 * What is no image is left out. Never rejects.
 */
export async function openImages({ images }: ImageAnswer, baseUrl: string, signal: AbortSignal): Promise<Opened> {
  const opened: DrawnImage[] = [];
  let why: string | undefined;
  for (const image of images) {
    try {
      opened.push(await imageOf(await bytesOf(image, baseUrl, signal)));
    } catch (error) {
      why = errorText(error);
    }
  }
  return { images: opened, ...(why !== undefined && { why }) };
}

async function bytesOf(image: MadeImage, baseUrl: string, signal: AbortSignal): Promise<Uint8Array> {
  if ("bytes" in image) return image.bytes;
  const own = URL.parse(baseUrl);
  const isOwn = own !== null && URL.parse(image.url)?.origin === own.origin;
  const { status, bytes, isCut } = await requestWeb(image.url, {
    rules: isOwn ? { privateHosts: [own.hostname] } : {},
    timeoutMs: FETCH_MS,
    maxBytes: MOST_BYTES,
    maxRedirects: 3,
    signal,
  });
  if (status >= 400) throw new Error(`The image could not be fetched: its address answered ${status}.`);
  if (isCut) throw new Error(`The image has more than ${MOST_BYTES} bytes.`);
  return bytes;
}

/** A service may answer with any bytes. */
async function imageOf(bytes: Uint8Array): Promise<DrawnImage> {
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  if (found?.mime.startsWith("image/") !== true) throw new Error("The answer has something that is no image.");
  return { bytes, mime: found.mime, ending: found.ext };
}
