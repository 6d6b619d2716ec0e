import { estimateTextTokens } from "../sessions/transcript/tokens.ts";
import type { PromptPart } from "../types/run/run.ts";

/** A named piece of the model's text, with its origin: a file, a config key, a module. */
export interface TextPart {
  readonly name: string;
  readonly source: string;
  /** Includes the separator from the piece before it: all texts joined are the whole. */
  readonly text: string;
  /** See `PromptPart`. */
  readonly wholeChars?: number;
}

export const joinParts = (parts: readonly TextPart[]): string => parts.map((part) => part.text).join("");

/** The origin of a text that nobody configured. */
export const BUILT_IN_ORIGIN = "built in";

/** The pieces as a receipt keeps them: sizes without texts. */
export function partSizes(parts: readonly TextPart[]): readonly PromptPart[] {
  return parts.map(({ name, source, text, wholeChars }) => ({
    name,
    source,
    tokens: estimateTextTokens(text),
    chars: text.length,
    ...(wholeChars !== undefined && { wholeChars }),
  }));
}

/** Divides the whole into the texts of its pieces. Undefined when their sizes do not match the whole. */
export function textsOf(sizes: readonly PromptPart[], whole: string): readonly TextPart[] | undefined {
  let at = 0;
  const parts = sizes.map(({ name, source, chars = Number.NaN }) => {
    const from = at;
    at += chars;
    return { name, source, text: whole.slice(from, at) };
  });
  return at === whole.length ? parts : undefined;
}
