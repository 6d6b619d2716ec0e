import type { ModelRef } from "../run/model.ts";

/** The models that look at images and documents, or draw, in place of the agent's own, and the limits of documents. */
export interface MediaSettings {
  /** Longest side in pixels of an image that a model is shown; 1,200 when unset. */
  readonly imageMaxSide?: number;
  /** There is no tool `image` when unset. */
  readonly image?: MediaModels;
  /** Models for PDF files; those for images, or else the run's own, when unset. */
  readonly pdf?: MediaModels;
  /** There is no tool `image_generate` when unset. */
  readonly draw?: MediaModels;
  readonly pdfMaxBytes: number;
  readonly pdfMaxPages: number;
}

export interface MediaModels {
  /** Models in the order in which they are tried, at least one. */
  readonly models: readonly ModelRef[];
  /** Milliseconds for one model. */
  readonly timeoutMs?: number;
}
