import { systemClock, type Clock } from "../../types/clock.ts";
import type { DrawAsk, DrawnImage, DrawStyle, ShownImage } from "../../types/media/drawing.ts";
import type { CallCost, CallOrigin, Reservation, PlannedCall } from "../../types/run/model-meter.ts";
import type { Failure } from "../../types/run/run.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { ModelHandle } from "../models.ts";
import { classifyFailure } from "../failure.ts";
import {
  tokenCountIn,
  dataUrlOf,
  imageAt,
  ratioOf,
  fromBase64,
  type ImageAnswer,
  type ImageApi,
  type MadeImage,
  type ImageUsage,
  type ImageService,
} from "./api.ts";
import { sendImageRequest, type ImageResponse } from "./send.ts";
import type { PiModel } from "../pi.ts";
import { googleImages } from "./google.ts";
import { requestWeb } from "../../utils/net/web-request.ts";
import { defined } from "../../utils/defined.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { hasPrice } from "../build.ts";

/**
 * OpenAI's own models, which answer with the images themselves. https://platform.openai.com/docs/api-reference/images
 */
const openaiImages: ImageApi = {
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
const compatibleImages: ImageApi = {
  atOnce: 4,
  takesImages: true,
  has: ["size"],
  request: (ask, service) => requestOf(ask, service, { size: ask.style.size, response_format: "b64_json" }),
  read,
};

/** xAI takes no size. https://docs.x.ai/docs/guides/image-generation */
const xaiImages: ImageApi = {
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

/** Makers whose models can answer with text as well as images; other models refuse to. */
const WRITES = /^~?(?:google|openai)\//;

/** OpenRouter draws in its chat. https://openrouter.ai/docs/guides/overview/multimodal/image-generation */
const openrouterImages: ImageApi = {
  atOnce: 1,
  takesImages: true,
  has: ["size", "aspectRatio", "resolution"],
  request({ prompt, images, style }, { baseUrl, model, key }) {
    const config = defined({ aspect_ratio: style.aspectRatio ?? ratioOf(style.size), image_size: style.resolution });
    const shown = images.map((image) => ({ type: "image_url", image_url: { url: dataUrlOf(image) } }));
    return {
      url: `${baseUrl}/chat/completions`,
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model,
        messages: [{ role: "user", content: [{ type: "text", text: prompt }, ...shown] }],
        modalities: WRITES.test(model) ? ["image", "text"] : ["image"],
        usage: { include: true },
        ...(Object.keys(config).length > 0 && { image_config: config }),
      }),
    };
  },
  read(body) {
    const fields = isFields(body) ? body : {};
    const message = messageIn(fields);
    const made: readonly unknown[] = Array.isArray(message["images"]) ? message["images"] : [];
    const usage = usageIn(fields["usage"]);
    const text = message["content"];
    return {
      images: made.flatMap(
        (one) => (isFields(one) && isFields(one["image_url"]) && imageAt(one["image_url"]["url"])) || [],
      ),
      ...(typeof text === "string" && { text: text.trim() }),
      ...(usage && { usage }),
    };
  },
};

function messageIn({ choices }: Fields): Fields {
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isFields(first) && isFields(first["message"]) ? first["message"] : {};
}

function usageIn(usage: unknown): ImageUsage | undefined {
  if (!isFields(usage)) return undefined;
  const { cost } = usage;
  return {
    input: tokenCountIn(usage["prompt_tokens"]),
    output: tokenCountIn(usage["completion_tokens"]),
    ...(typeof cost === "number" && cost >= 0 && { usd: cost }),
  };
}

interface DrawOptions {
  /** Cause and principal of the call. */
  readonly origin: CallOrigin;
  readonly signal: AbortSignal;
  /** Called for each request with the cost that the meter got. Must not throw. */
  onSettled?(cost: CallCost): void;
  readonly clock?: Pick<Clock, "now">;
}

/** Images, or why there are none: `why` where the model was not asked, and `failure` where it was and failed. */
export type Drawn =
  | {
      readonly images: readonly DrawnImage[];
      readonly leftOut: readonly string[];
      /** Why there are fewer images than were wanted. */
      readonly missing?: string;
    }
  | { readonly why: string; readonly failure?: Failure };

/**
 * Has a model draw, with as many requests as its service needs for all images. The meter reserves the cost of each request first, and
 * that is settled when the request has ended. A request that the meter refuses is not sent and fails with the kind `budget`. Never
 * rejects; an abort of the signal ends it soon.
 */
export async function drawImages(handle: ModelHandle, ask: DrawAsk, options: DrawOptions): Promise<Drawn> {
  const api = imageApiOf(handle.pi);
  if (handle.info.demo === true || !api) return { why: `${handle.info.provider} has no service that draws images` };
  if (ask.images.length > 0 && !api.takesImages) return { why: "its service changes no images" };
  const images: DrawnImage[] = [];
  let missing: string | undefined;
  while (images.length < ask.count && missing === undefined) {
    const count = Math.min(api.atOnce, ask.count - images.length);
    const made = await drawOnce({ handle, api, ask: { ...ask, count } }, options);
    if ("failure" in made && images.length === 0) return made;
    if ("failure" in made) missing = made.why;
    else images.push(...made.images.slice(0, count));
  }
  return { images, leftOut: leftOut(ask.style, api), ...(missing !== undefined && { missing }) };
}

const leftOut = (style: DrawStyle, { has }: ImageApi): readonly string[] => {
  const known: readonly string[] = has;
  return Object.entries(style).flatMap(([name, value]) => (value === undefined || known.includes(name) ? [] : [name]));
};

interface OneRequest {
  readonly handle: ModelHandle;
  readonly api: ImageApi;
  readonly ask: DrawAsk;
}

type Made = { readonly images: readonly DrawnImage[] } | { readonly why: string; readonly failure: Failure };

async function drawOnce(one: OneRequest, options: DrawOptions): Promise<Made> {
  const cost = new DrawCost(one.handle, one.ask);
  const reserved = await reserve(one.handle, cost, options);
  if (typeof reserved === "string") return failed(reserved, { kind: "budget" });
  const settle = (took: CallCost): void => {
    reserved.settle(took);
    options.onSettled?.(took);
  };
  const sent = await sendImageRequest(one.api.request(one.ask, serviceOf(one.handle)), {
    headers: one.handle.pi.headers,
    signal: options.signal,
    now: () => (options.clock ?? systemClock).now(),
  });
  if ("failed" in sent) {
    settle(costOfFailure(cost, sent, options.signal));
    return failed(sent.failed, sent.facts);
  }
  const answer = one.api.read(sent.body);
  const opened = await openImages(answer, one.handle.pi.baseUrl, options.signal);
  settle(cost.answered(answer.images.length, answer.usage));
  return opened.images.length > 0 ? opened : failed(opened.why ?? whyNone(answer), {});
}

type Allowed = Extract<Reservation, { kind: "allowed" }>;

/** The reservation that settles the cost, or why the request must not be sent. */
async function reserve(
  { meter }: ModelHandle,
  cost: DrawCost,
  { origin, signal }: DrawOptions,
): Promise<Allowed | string> {
  try {
    const answer = await meter.reserve(cost.planned(origin));
    if (answer.kind === "refused") return `The budget does not allow this call: ${answer.reason}`;
    if (!signal.aborted) return answer;
    answer.settle(cost.nothing("aborted"));
    return "It was stopped.";
  } catch (error) {
    return `The cost of the call could not be reserved: ${errorText(error)}`;
  }
}

function costOfFailure(
  cost: DrawCost,
  { wasSent, facts }: Extract<ImageResponse, { failed: string }>,
  signal: AbortSignal,
): CallCost {
  const outcome = signal.aborted ? "aborted" : "failed";
  return !wasSent || (facts.status ?? 0) >= 400 ? cost.nothing(outcome) : cost.unseen(outcome);
}

const serviceOf = ({ pi, apiKey }: ModelHandle) => ({
  baseUrl: pi.baseUrl.replace(/\/+$/, ""),
  model: pi.id,
  key: apiKey,
});

function failed(text: string, facts: Parameters<typeof classifyFailure>[1]): Extract<Made, { failure: Failure }> {
  const failure = classifyFailure(Secret.mask(text), facts);
  return { why: failure.message, failure };
}

/** Models that only talk, or that refuse. */
const whyNone = ({ text = "" }: ImageAnswer): string =>
  text === "" ? "The answer has no image." : `The answer has no image: ${text.slice(0, 500).toWellFormed()}`;

/** Providers with ways of their own. */
const BY_PROVIDER: ReadonlyMap<string, ImageApi> = new Map([
  ["openai", openaiImages],
  ["openrouter", openrouterImages],
  ["xai", xaiImages],
]);

/** Ways of other providers, by the API of their models. */
const BY_API: ReadonlyMap<string, ImageApi> = new Map([
  ["google-generative-ai", googleImages],
  ["openai-completions", compatibleImages],
  ["openai-responses", compatibleImages],
]);

/** How the provider of a model is asked for images; undefined where it cannot be. */
const imageApiOf = ({ provider, api }: Pick<PiModel, "provider" | "api">): ImageApi | undefined =>
  BY_PROVIDER.get(provider) ?? BY_API.get(api);

/** Bytes of one image. */
const MOST_BYTES = 48 * 1024 * 1024;
/** Milliseconds in which an image that a service only names must come. */
const FETCH_MS = 60_000;

interface Opened {
  readonly images: readonly DrawnImage[];
  /** Why one of the images could not be used. */
  readonly why?: string;
}

/**
 * The images of an answer. An image that a service only names is fetched without its key: from the service itself, or
 * from a public address. Content that is no image is left out. Never rejects.
 */
async function openImages({ images }: ImageAnswer, baseUrl: string, signal: AbortSignal): Promise<Opened> {
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

interface Price {
  /** US dollars for a million tokens, of images where texts are cheaper. */
  readonly input: number;
  readonly output: number;
  /** The most tokens of one image. */
  readonly most: number;
}

/**
 * Prices of models that draw, which the SDK's catalogue does not have. https://platform.openai.com/docs/pricing,
 * https://ai.google.dev/gemini-api/docs/pricing
 */
const PRICES: Readonly<Record<string, Price>> = {
  "openai/gpt-image-1": { input: 10, output: 40, most: 6600 },
  "openai/gpt-image-1-mini": { input: 2.5, output: 8, most: 6600 },
  "openai/gpt-image-1.5": { input: 8, output: 32, most: 6600 },
  "google/gemini-2.5-flash-image": { input: 0.3, output: 30, most: 2600 },
  "google/gemini-3-pro-image-preview": { input: 2, output: 120, most: 4000 },
};

/** Tokens that count for an image of a service that counts none: then a price for each image is a thousand times lower per token. */
const UNCOUNTED = 1000;
/** Tokens of an image that a model is shown, estimated. */
const SHOWN = 1600;
const MILLION = 1_000_000;

/** Cost of a request for images: the most that it can take, and the actual cost. */
class DrawCost {
  readonly #handle: ModelHandle;
  readonly #input: number;
  readonly #mostOutput: number;

  constructor(handle: ModelHandle, { prompt, images, count }: DrawAsk) {
    const known = PRICES[`${handle.info.provider}/${handle.info.id}`];
    this.#handle = handle;
    this.#input = Math.ceil(prompt.length / 3) + images.length * SHOWN;
    this.#mostOutput = count * (known?.most ?? handle.pi.maxTokens);
  }

  get #price(): Omit<Price, "most"> | undefined {
    const { pi, info } = this.#handle;
    return hasPrice(pi) ? pi.cost : PRICES[`${info.provider}/${info.id}`];
  }

  /** An image cannot be made with fewer tokens, so it is all or nothing. */
  planned(origin: CallOrigin): PlannedCall {
    const { info, profile } = this.#handle;
    const price = this.#price;
    return {
      ...origin,
      model: { provider: info.provider, id: info.id },
      profileId: profile.id,
      estimatedInputTokens: this.#input,
      maxOutputTokens: this.#mostOutput,
      highestCost: price ? (this.#input * price.input + this.#mostOutput * price.output) / MILLION : 0,
      most: {
        inputTokens: this.#input,
        outputTokens: this.#mostOutput,
        leastOutputTokens: this.#mostOutput,
        ...(price && { price: { input: price.input / MILLION, output: price.output / MILLION } }),
      },
    };
  }

  /** Cost of an answer with so many images. */
  answered(images: number, usage: ImageUsage | undefined): CallCost {
    const isCounted = usage !== undefined && usage.input + usage.output > 0;
    const output = isCounted ? usage.output : images * UNCOUNTED;
    return {
      outcome: images > 0 ? "answered" : "failed",
      ...this.#costOf(isCounted ? usage.input : this.#input, output, usage?.usd),
      isEstimate: !isCounted,
    };
  }

  /** Cost of a request whose answer nobody saw: the service may have made all of it. */
  unseen(outcome: "failed" | "aborted"): CallCost {
    return { outcome, ...this.#costOf(this.#input, this.#mostOutput), isEstimate: true };
  }

  /** Cost of a request that was not sent, or was refused. */
  nothing(outcome: "failed" | "aborted"): CallCost {
    return { outcome, usage: emptyUsage(), isEstimate: false };
  }

  #costOf(input: number, output: number, usd?: number): Pick<CallCost, "usage"> {
    const price = this.#price ?? { input: 0, output: 0 };
    const cost = { input: (input * price.input) / MILLION, output: (output * price.output) / MILLION };
    const total = usd ?? cost.input + cost.output;
    const usage = { ...emptyUsage(), input, output, totalTokens: input + output };
    return { usage: { ...usage, cost: { ...usage.cost, ...cost, total } } };
  }
}
