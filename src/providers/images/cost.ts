import type { CallCost, CallOrigin, PlannedCall } from "../../types/run/model-meter.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { hasPrice } from "../build.ts";
import type { ModelHandle } from "../models.ts";
import type { DrawAsk } from "../../types/media/drawing.ts";
import type { ImageUsage } from "./api.ts";

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
export class DrawCost {
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
