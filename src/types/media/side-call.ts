import type { ModelInfo, ModelRef, TextContent, ThinkLevel } from "../run/model.ts";

/** Something that a model is shown. The harness makes images small enough for the model. */
export type SidePart =
  | TextContent
  | { readonly type: "image"; readonly bytes: Uint8Array; readonly name: string }
  /** Only for models that read PDF files. */
  | { readonly type: "pdf"; readonly bytes: Uint8Array };

/** The model that is about to be asked. */
export interface AskedModel {
  readonly info: ModelInfo;
  /** The model's API takes PDF files as they are. */
  readonly readsPdf: boolean;
}

/** Question of a tool to a model outside of the conversation. */
export interface SideQuestion {
  /** Models in the order in which they are tried; the run's own models when unset. */
  readonly models?: readonly ModelRef[] | undefined;
  readonly system: string;
  /**
   * Parts that the model is shown, or why it cannot be asked. Called for each model, since models accept different
   * parts.
   */
  show(model: AskedModel): Promise<readonly SidePart[] | NotAsked>;
  /** Tokens of the answer; the model's own limit when unset. */
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly thinking?: ThinkLevel | undefined;
  /** Milliseconds for one model. */
  readonly timeoutMs: number;
}

/** Why a model was not asked. It continues a sentence. */
export interface NotAsked {
  readonly why: string;
}

export interface SideAnswer {
  readonly text: string;
  readonly model: ModelRef;
  /** The limit of tokens ended the answer. */
  readonly isCut: boolean;
}

/**
 * Asks models in turn until one answers. The cost is part of the run's receipt. Rejects with a text for the model when none
 * answers.
 */
export type AskAside = (question: SideQuestion, signal: AbortSignal) => Promise<SideAnswer>;
