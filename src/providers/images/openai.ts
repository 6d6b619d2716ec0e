import type { DrawAsk, DrawStyle, ShownImage } from "../../types/media/drawing.ts";
import { defined } from "../../utils/defined.ts";
import { isFields } from "../../utils/fields.ts";
import {
  tokenCountIn,
  fromBase64,
  type ImageAnswer,
  type ImageApi,
  imageAt,
  type ImageService,
  type MadeImage,
} from "./api.ts";

/**
 * OpenAI's own models, which answer with the images themselves. https://platform.openai.com/docs/api-reference/images
 */
export const openaiImages: ImageApi = {
  atOnce: 4,
  takesImages: true,
  has: ["size", "aspectRatio", "quality", "outputFormat", "background"],
  request: (ask, service) =>
    requestOf(ask, service, {
      size: ask.style.size ?? sizeOf(ask.style.aspectRatio),
      quality: ask.style.quality,
      output_format: ask.style.outputFormat,
      background: ask.style.background,
    }),
  read,
};

/** Other services with OpenAI's `/images/generations`, of whose settings only the size is common to all. */
export const compatibleImages: ImageApi = {
  atOnce: 4,
  takesImages: true,
  has: ["size"],
  request: (ask, service) => requestOf(ask, service, { size: ask.style.size, response_format: "b64_json" }),
  read,
};

/** xAI takes no size. https://docs.x.ai/docs/guides/image-generation */
export const xaiImages: ImageApi = {
  atOnce: 4,
  takesImages: false,
  has: ["aspectRatio", "resolution"],
  request: (ask, service) =>
    requestOf(ask, service, {
      aspect_ratio: ask.style.aspectRatio,
      resolution: ask.style.resolution?.toLowerCase(),
      response_format: "b64_json",
    }),
  read,
};

type Settings = Readonly<Record<string, string | undefined>>;

function requestOf({ prompt, images, count }: DrawAsk, { baseUrl, model, key }: ImageService, settings: Settings) {
  const fields = { model, prompt, n: count, ...defined(settings) };
  const headers = key === "" ? {} : { authorization: `Bearer ${key}` };
  if (images.length === 0)
    return {
      url: `${baseUrl}/images/generations`,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(fields),
    };
  return { url: `${baseUrl}/images/edits`, headers, body: formOf(fields, images) };
}

function formOf(fields: Readonly<Record<string, string | number>>, images: readonly ShownImage[]): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  for (const [at, { bytes, mime }] of images.entries())
    form.append("image[]", new Blob([new Uint8Array(bytes)], { type: mime }), `image-${at + 1}.${mime.split("/")[1]}`);
  return form;
}

/** OpenAI's models draw in three shapes. */
function sizeOf(ratio: DrawStyle["aspectRatio"]): string | undefined {
  const [width = 0, height = 0] = (ratio ?? "").split(":").map(Number);
  if (!(width > 0 && height > 0)) return undefined;
  if (width === height) return "1024x1024";
  return width > height ? "1536x1024" : "1024x1536";
}

function read(body: unknown): ImageAnswer {
  if (!isFields(body)) return { images: [] };
  const data: readonly unknown[] = Array.isArray(body["data"]) ? body["data"] : [];
  const { usage } = body;
  return {
    images: data.flatMap((one) => (isFields(one) ? (imageIn(one) ?? []) : [])),
    ...(isFields(usage) && {
      usage: { input: tokenCountIn(usage["input_tokens"]), output: tokenCountIn(usage["output_tokens"]) },
    }),
  };
}

function imageIn({ b64_json: text, url }: Readonly<Record<string, unknown>>): MadeImage | undefined {
  const bytes = fromBase64(text);
  return bytes ? { bytes } : imageAt(url);
}
