import type { ModelRef } from "../run/model.ts";
import type { AskAside } from "./side-call.ts";

export const RESOLUTIONS = ["1K", "2K", "4K"] as const;
export const QUALITIES = ["low", "medium", "high", "auto"] as const;
export const IMAGE_FORMATS = ["png", "jpeg", "webp"] as const;
export const BACKGROUNDS = ["transparent", "opaque", "auto"] as const;

/** Look of an image. Each service has some of these settings and leaves the others out. */
export interface DrawStyle {
  /** Pixels, as `1024x1536`. */
  readonly size?: string | undefined;
  /** As `16:9`. */
  readonly aspectRatio?: string | undefined;
  readonly resolution?: (typeof RESOLUTIONS)[number] | undefined;
  readonly quality?: (typeof QUALITIES)[number] | undefined;
  readonly outputFormat?: (typeof IMAGE_FORMATS)[number] | undefined;
  readonly background?: (typeof BACKGROUNDS)[number] | undefined;
}

/** An image that a model is shown to change it, or to draw something like it. */
export interface ShownImage {
  readonly bytes: Uint8Array;
  readonly mime: string;
}

/** Order for a model to draw an image. */
export interface DrawAsk {
  readonly prompt: string;
  readonly images: readonly ShownImage[];
  /** At least 1. */
  readonly count: number;
  readonly style: DrawStyle;
}

export interface DrawQuestion {
  readonly ask: DrawAsk;
  /** Models in the order in which they are tried. */
  readonly models: readonly ModelRef[];
  /** Milliseconds for one model. */
  readonly timeoutMs: number;
}

export interface DrawnImage {
  readonly bytes: Uint8Array;
  readonly mime: string;
  /** The ending of the image's format, without the dot. */
  readonly ending: string;
}

export interface Drawing {
  /** At least one. */
  readonly images: readonly DrawnImage[];
  readonly model: ModelRef;
  /** The settings that the model's service does not have. */
  readonly leftOut: readonly string[];
  /** Why there are fewer images than were wanted. */
  readonly missing?: string;
}

/** Has models draw, one after the other until one has. Rejects with a text for the model when none has. */
export type DrawAside = (question: DrawQuestion, signal: AbortSignal) => Promise<Drawing>;

/** Model calls of a tool outside of the conversation. The cost is part of the run's receipt. */
export interface Aside {
  readonly ask: AskAside;
  readonly draw: DrawAside;
}
