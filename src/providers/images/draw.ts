import { systemClock, type Clock } from "../../types/clock.ts";
import type { DrawAsk, DrawnImage, DrawStyle } from "../../types/media/drawing.ts";
import type { CallCost, CallOrigin, Reservation } from "../../types/run/model-meter.ts";
import type { Failure } from "../../types/run/run.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { ModelHandle } from "../models.ts";
import { classifyFailure } from "../failure.ts";
import type { ImageAnswer, ImageApi, MadeImage } from "./api.ts";
import { DrawCost } from "./cost.ts";
import { sendImageRequest, type ImageResponse } from "./send.ts";
import type { PiModel } from "../pi.ts";
import { googleImages } from "./google.ts";
import { compatibleImages, openaiImages, xaiImages } from "./openai.ts";
import { openrouterImages } from "./openrouter.ts";
import { requestWeb } from "../../utils/net/web-request.ts";

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
