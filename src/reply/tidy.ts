import { BoundedMap } from "../utils/bounded-map.ts";

/** Releases text without the blanks that a cut leaves, and holds back a silent token. */
export interface TidyText {
  /** Returns what may be shown now. */
  text(part: string): string;
  /** Something was removed here. */
  cut(): void;
  /** Returns the rest. */
  end(): string;
  /** After `end()`: whether the text consisted of the token alone. */
  silent(): boolean;
}

interface TidyState {
  /** Blanks not yet released: before the last cut, and after it when there was one. */
  gap: string;
  afterCut: string | undefined;
  /**
   * Whole words that are the token, with the marks of a block around these words, and the blanks before and between
   * them.
   */
  held: string;
  heldGap: string;
  /** The word after `held`, as far as it is written, while it may still become the token. */
  word: string;
  wordGap: string;
  place: Place;
  /** Number of tokens in `held`. */
  tokens: number;
  /** Whether `held` began with the mark of a block. */
  inBlock: boolean;
  /** The last sign that was released. */
  last: string;
  token: boolean;
}

/**
 * Where a word is that may be the token: at the end of a line of other words it must be written without any marks, and after a sign such as
 * a colon or a bullet it is a mention of the token.
 */
type Place = "own line" | "end of line" | "mention";

/** A token that is not released, also inside of Markdown's marks or quotation marks, in any case and with a full stop. */
interface Token {
  /** Whether a word is the token, or the token several times without blanks. */
  isWhole(word: string, place: Place): boolean;
  /** Whether the word may become the token when more is written. */
  mayBe(word: string, place: Place): boolean;
  /** UTF-16 units of the longest word that is the token. */
  readonly mostLength: number;
}

const MARKS_BEFORE = 4;
const MARKS_AFTER = 6;
const MOST_TOKENS = 4;
/** Tokens whose patterns are kept; the gateway has a few. */
const MOST_KNOWN = 16;
const UNSEEN = "\\u200B-\\u200D\\u2060";
const BEFORE = `[*_\`~"'“‘(${UNSEEN}]{0,${MARKS_BEFORE}}`;
const AFTER = `[*_\`~"'”’).!${UNSEEN}]{0,${MARKS_AFTER}}`;

/** The same for each text with the token: making its patterns takes longer than a short text. */
const tokens = new BoundedMap<string, Token>(MOST_KNOWN);

const tokenOf = (token: string): Token => tokens.of(token, () => readToken(token));

function readToken(token: string): Token {
  const part = token.split("").reduceRight((rest, sign) => `(?:${sign}${rest})?`, AFTER);
  const whole = new RegExp(`^${BEFORE}(?:${token}){1,${MOST_TOKENS}}${AFTER}$`, "i");
  const torn = new RegExp(`^${BEFORE}(?:${token}){0,${MOST_TOKENS - 1}}${part}$`, "i");
  return {
    isWhole: (word, place) => (place === "own line" ? whole.test(word) : place !== "mention" && word === token),
    mayBe: (word, place) => (place === "own line" ? torn.test(word) : place !== "mention" && token.startsWith(word)),
    mostLength: MARKS_BEFORE + MOST_TOKENS * token.length + MARKS_AFTER,
  };
}

/**
 * The marks of a block of code, of a quotation and of a list. A whole message in one is held as long as it may be nothing but the token.
 */
const BLOCK = /^(?:`{3,6}\w{0,12}|>{1,3}|[-+*•–]|\d{1,3}[.)])$/;
/** Text that may become such a mark when more is written. */
const TORN_BLOCK = /^(?:`{1,2}|\d{1,3})$/;

/**
 * A word `silent` is not released at the end of the text, however often it is there, nor alone on the first line. The output has no
 * blanks at its ends.
 */
export const createTidyText = (silent: string): TidyText => new Tidying(tokenOf(silent));

class Tidying implements TidyText {
  readonly #token: Token;
  readonly #state: TidyState = {
    gap: "",
    afterCut: undefined,
    held: "",
    heldGap: "",
    word: "",
    wordGap: "",
    place: "own line",
    tokens: 0,
    inBlock: false,
    last: "",
    token: false,
  };

  constructor(token: Token) {
    this.#token = token;
  }

  text(part: string): string {
    const [state, token] = [this.#state, this.#token];
    let out = "";
    const end = part.trimEnd().length;
    for (let at = 0; at < part.length;) {
      const plain = canRelease(state) ? plainUntil(part, { at, end, gap: state.gap }, token) : at;
      if (plain > at) {
        out += release(state, state.gap + part.slice(at, plain));
        state.gap = "";
        at = plain;
        continue;
      }
      RUN.lastIndex = at;
      const [run = ""] = RUN.exec(part) ?? [];
      at += run.length;
      if (run.trim() === "") keepBlank(state, run);
      else out += takeWord(state, run, token);
    }
    return out;
  }

  cut(): void {
    this.#state.gap = joinGap(this.#state.gap, this.#state.afterCut);
    this.#state.afterCut = "";
  }

  end(): string {
    const state = this.#state;
    if (state.word !== "" && !endWord(state, this.#token)) return leave(state, state.wordGap);
    if (state.tokens === 0) return letOut(state);
    state.token = true;
    state.held = "";
    return "";
  }

  silent(): boolean {
    return this.#state.token && this.#state.last === "";
  }
}

const RUN = /\s+|\S+/y;

/** Whether a word that comes now is released with the blanks before it, unless it may be the token. */
const canRelease = ({ last, held, word, afterCut }: TidyState): boolean =>
  afterCut === undefined && held === "" && word === "" && last !== "";

interface Stretch {
  readonly at: number;
  readonly end: number;
  /** The blanks before the word. */
  readonly gap: string;
}

/** Where the text from `at` to `end` ends that is released as it is: before its last words when they may all be the token. */
function plainUntil(part: string, { at, end }: Stretch, token: Token): number {
  let until = end;
  for (let stop = end; stop > at;) {
    const tail = part.slice(Math.max(at, stop - token.mostLength - 1), stop);
    const word = LAST_WORD.exec(tail)?.[0] ?? "";
    const isLast = stop === end;
    if (!(isLast ? token.mayBe(word, "own line") : token.isWhole(word, "own line"))) break;
    until = Math.max(at, stop - word.length);
    stop = at + part.slice(at, until).trimEnd().length;
  }
  return at + part.slice(at, until).trimEnd().length;
}

const LAST_WORD = /\S*$/;

function keepBlank(state: TidyState, run: string): void {
  if (state.afterCut === undefined) state.gap += run;
  else state.afterCut += run;
}

function takeWord(state: TidyState, run: string, token: Token): string {
  const gap = joinGap(state.gap, state.afterCut);
  state.gap = "";
  state.afterCut = undefined;
  if (gap === "" && state.word !== "") return goOn(state, run, token);
  // `run` is the rest of a word whose beginning was released.
  if (gap === "" && state.last !== "") return release(state, run);
  const before = state.word === "" || endWord(state, token) ? "" : leave(state, state.wordGap);
  return before + begin(state, { run, gap }, token);
}

/** More of the word that is being held. */
function goOn(state: TidyState, run: string, token: Token): string {
  const { wordGap: gap, word } = state;
  state.word = "";
  return begin(state, { run: word + run, gap }, token);
}

/** Begins to hold a word, as far as it is written. Releases `held` before it when this word is not the token. */
function begin(state: TidyState, { run, gap }: { run: string; gap: string }, token: Token): string {
  const before = fits(state, { run, gap }, token) ? "" : leave(state, gap);
  const place = placeOf(state, gap);
  if (!token.mayBe(run, place) && !mayOpen(state, run)) return before + release(state, (state.last && gap) + run);
  Object.assign(state, { word: run, wordGap: gap, place });
  return before;
}

/** Whether a word continues `held`. */
function fits(state: TidyState, { run, gap }: { run: string; gap: string }, token: Token): boolean {
  return state.held === "" || token.mayBe(run, placeOf(state, gap)) || mayOpen(state, run);
}

function placeOf({ held, place, last }: TidyState, gap: string): Place {
  if (gap.includes("\n") || last === "" || SENTENCE_END.test(last)) return "own line";
  if (held !== "") return place;
  return BEFORE_MENTION.test(last) ? "mention" : "end of line";
}

const SENTENCE_END = /[.!?…。！？]/u;
const BEFORE_MENTION = /[:=>|([{"'`“‘*•–—-]/u;

/** Whether a word may be the mark of a block that nothing was shown before. */
const mayOpen = ({ last, held, inBlock }: TidyState, word: string): boolean =>
  last === "" && (held === "" || inBlock) && (BLOCK.test(word) || TORN_BLOCK.test(word));

/** Adds the word that ended to `held`. False when the word is not the token. */
function endWord(state: TidyState, token: Token): boolean {
  const { word, wordGap, place, held } = state;
  const isToken = token.isWhole(word, place);
  if (!isToken && !(mayOpen(state, word) && BLOCK.test(word))) return false;
  if (held === "") Object.assign(state, { heldGap: wordGap, inBlock: !isToken });
  state.held = held === "" ? word : held + wordGap + word;
  state.tokens += Number(isToken);
  state.word = "";
  return true;
}

/** Releases `held`, unless it is the token alone on the first line, before a word with these blanks. */
function leave(state: TidyState, gap: string): string {
  const isFirstLine = state.last === "" && gap.includes("\n") && !state.inBlock && /^[A-Z_]+$/.test(state.held);
  if (isFirstLine) state.held = "";
  return letOut(state);
}

function letOut(state: TidyState): string {
  const { held, heldGap, word, wordGap } = state;
  Object.assign(state, { held: "", word: "", tokens: 0, inBlock: false });
  const text = held === "" ? word : held + (word === "" ? "" : wordGap + word);
  const gap = held === "" ? wordGap : heldGap;
  return text === "" ? "" : release(state, (state.last && gap) + text);
}

function release(state: TidyState, text: string): string {
  state.last = text.at(-1) ?? state.last;
  return text;
}

/** Joins the gaps before and after a cut to one: a line that held nothing else is removed, two words stay apart. */
function joinGap(before: string, after: string | undefined): string {
  if (after === undefined) return before;
  if (!before.includes("\n") && !after.includes("\n")) return before === "" ? after : before;
  const head = before.replace(/[ \t]+$/, "");
  if (!head.endsWith("\n")) return head + after.replace(/^[ \t]+/, "");
  if (!after.includes("\n")) return head;
  return head + after.replace(head.endsWith("\n\n") ? /^(?:[ \t]*\n)+/ : /^[ \t]*\n/, "");
}
