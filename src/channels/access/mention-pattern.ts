import { runWithin } from "../../utils/run-within.ts";
import { compilePattern } from "../../utils/text/pattern.ts";

/** Milliseconds of processor time that a pattern may search one message, and for which it is switched off after a longer search. */
const SEARCH_TIMEOUT_MS = 50;
const COOLDOWN_MS = 60_000;

/** Characters that a pattern with one repetition searches in a millisecond or two, whatever they are. */
const SHORT_TEXT = 1000;

/**
 * A pattern that counts as a mention of the bot. A sender chooses the text, and some patterns take practically for ever on some
 * texts: such a search is stopped, and the pattern is not used for a minute.
 */
export class MentionPattern {
  readonly source: string;
  readonly #pattern: RegExp;
  readonly #safeLength: number;
  #offUntil = 0;

  /** Throws when the source is not a regular expression. */
  constructor(source: string) {
    this.source = source;
    this.#pattern = compilePattern(source);
    this.#safeLength = safeLength(source);
  }

  /** Whether a search ever had to be stopped. */
  get wasStopped(): boolean {
    return this.#offUntil > 0;
  }

  isIn(text: string): boolean {
    // The timeout costs a hundred times as much as a search.
    if (text.length <= this.#safeLength) return this.#pattern.test(text);
    if (performance.now() < this.#offUntil) return false;
    const search = runWithin(SEARCH_TIMEOUT_MS, () => this.#pattern.test(text));
    if (search.kind === "done") return search.value;
    this.#offUntil = performance.now() + COOLDOWN_MS;
    return false;
  }
}

/** The longest text that the pattern is certain to search quickly: any (infinite), some, or none (-1). */
function safeLength(source: string): number {
  if (/\\(?:[1-9]|k<)/.test(source)) return -1;
  const bare = source.replaceAll(/\\(?:[pPu]\{[^}]*\}|.)/gsu, "x").replaceAll(/\[[^\]]*\]/g, "x");
  const repeats = bare.match(/[*+{]/g)?.length ?? 0;
  const choices = bare.match(/\||[^(]\?/g)?.length ?? 0;
  if (repeats === 0) return choices <= 8 ? Number.POSITIVE_INFINITY : -1;
  return repeats === 1 && choices <= 2 && !/\)[*+{]/.test(bare) ? SHORT_TEXT : -1;
}

const compiled = new WeakMap<readonly string[], readonly MentionPattern[]>();

/** The patterns of a list in the config. The same list gives the same patterns. */
export function mentionPatterns(sources: readonly string[]): readonly MentionPattern[] {
  const patterns = compiled.get(sources) ?? sources.map((source) => new MentionPattern(source));
  compiled.set(sources, patterns);
  return patterns;
}
