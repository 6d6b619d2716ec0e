import { createContext, isContext, Script } from "node:vm";
import { compilePattern } from "../../utils/text/pattern.ts";

/** Milliseconds that a pattern may look at one message, and for which it rests when it took longer. */
const LONGEST_MS = 50;
const REST_MS = 60_000;

/** Characters that a pattern with one repetition has looked through in a millisecond or two, whatever they are. */
const SHORT = 1000;

/** Starting the clock of a limited run costs more than a hundred times what the search itself does. */
const script = new Script("pattern.test(text)");

/**
 * What counts as naming the bot. Whoever may write can choose the text, and some patterns never come to an end with some
 * texts: such a search is broken off, and the pattern is asked again after a minute.
 */
export class MentionPattern {
  readonly source: string;
  readonly #box: { readonly pattern: RegExp; text: string };
  readonly #safeLength: number;
  #restsUntil = 0;

  /** Throws where the source is no regular expression. */
  constructor(source: string) {
    this.source = source;
    this.#box = { pattern: compilePattern(source), text: "" };
    this.#safeLength = safeLength(source);
  }

  /** Whether a search had to be broken off. */
  get wasStopped(): boolean {
    return this.#restsUntil > 0;
  }

  isIn(text: string): boolean {
    if (text.length <= this.#safeLength) return this.#box.pattern.test(text);
    if (performance.now() < this.#restsUntil) return false;
    try {
      return this.#testInTime(text);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      this.#restsUntil = performance.now() + REST_MS;
      return false;
    }
  }

  #testInTime(text: string): boolean {
    if (!isContext(this.#box)) createContext(this.#box);
    this.#box.text = text;
    return script.runInContext(this.#box, { timeout: LONGEST_MS }) === true;
  }
}

/** The error comes from another realm, so it is no `Error` of this one. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** Characters of a text that the pattern is sure to be through with quickly: all, some, or none. */
function safeLength(source: string): number {
  if (/\\(?:[1-9]|k<)/.test(source)) return -1;
  const bare = source.replaceAll(/\\./gsu, "x").replaceAll(/\[[^\]]*\]/g, "x");
  const repeats = bare.match(/[*+{]/g)?.length ?? 0;
  const choices = bare.match(/\||[^(]\?/g)?.length ?? 0;
  if (repeats === 0) return choices <= 8 ? Number.POSITIVE_INFINITY : -1;
  return repeats === 1 && choices <= 2 && !/\)[*+{]/.test(bare) ? SHORT : -1;
}

const made = new WeakMap<readonly string[], readonly MentionPattern[]>();

/** The patterns of a list of the config; the same ones for the same list. */
export function mentionPatterns(sources: readonly string[]): readonly MentionPattern[] {
  const patterns = made.get(sources) ?? sources.map((source) => new MentionPattern(source));
  made.set(sources, patterns);
  return patterns;
}
