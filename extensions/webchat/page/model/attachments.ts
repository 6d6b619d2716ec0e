import type { Picture } from "./exchanges.ts";
import { size } from "./format.ts";
import type { Limits } from "./protocol.ts";
import { t } from "../words/words.ts";

/** Pixels of the longer side of an image that is scaled down. */
const LONGEST_SIDE = 2048;
/** JPEG quality of an image that is scaled down, 0 to 1. */
const QUALITY = 0.85;

/** Images that are ready to send, and a line for each refused file. */
export interface ReadFiles {
  readonly pictures: readonly Picture[];
  readonly refusals: readonly string[];
}

/** Reads image files to send. An image above the gateway's limit is scaled down, or refused if it is still too large. */
export async function readFiles(files: readonly File[], limits: Limits): Promise<ReadFiles> {
  const read = await Promise.all(files.map((file) => readFile(file, Math.min(limits.image, limits.attachment))));
  return {
    pictures: read.flatMap((item) => (typeof item === "string" ? [] : [item])),
    refusals: read.filter((item) => typeof item === "string"),
  };
}

async function readFile(file: File, limit: number): Promise<Picture | string> {
  if (!file.type.startsWith("image/")) return t("{name} is not an image.", { name: file.name });
  const fitting = file.size <= limit ? file : await scaledDown(file);
  if (fitting === undefined) return t("{name} could not be read as an image.", { name: file.name });
  if (fitting.size > limit)
    return t("{name} is {size}; the gateway accepts images up to {limit}.", {
      name: file.name,
      size: size(file.size),
      limit: size(limit),
    });
  return { name: file.name, mimeType: fitting.type, data: await base64(fitting) };
}

async function scaledDown(file: File): Promise<Blob | undefined> {
  // An image that the browser cannot decode is not scaled down; the caller reports that it is too large.
  const bitmap = await createImageBitmap(file).catch(() => undefined);
  if (bitmap === undefined) return undefined;
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale), Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
}

/** The bytes of a file. Rejects when it cannot be read. */
export function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(url.slice(url.indexOf(",") + 1));
    });
    reader.addEventListener("error", () =>
      reject(reader.error ?? new Error(t("A file of type {type} cannot be read.", { type: blob.type }))),
    );
    reader.readAsDataURL(blob);
  });
}
