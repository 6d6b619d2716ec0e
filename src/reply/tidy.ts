/** Releases text without the blanks that a cut leaves, and holds back a silent token. */
export interface TidyText {
  /** Returns what may be shown now. */
  text(part: string): string;
  /** Something was removed here. */
  cut(): void;
  /** Returns what is left. */
  end(): string;
  /** After `end()`: there was no text but the token. */
  silent(): boolean;
}

interface TidyState {
  /** Blanks not yet released: before the last cut, and after it when there was one. */
  gap: string;
  afterCut: string | undefined;
  /** A word on its own line that may still become the token, and the blanks before it. */
  held: string;
  heldGap: string;
  shown: boolean;
  token: boolean;
}

/** A token that is not released, also inside of Markdown's marks or quotation marks, in any case and with a full stop. */
interface Token {
  /** Whether a word is the token. */
  isWhole(word: string): boolean;
  /** Whether it may become the token when more is written. */
  mayBe(word: string): boolean;
  /** UTF-16 units of the longest word that is the token. */
  readonly mostLength: number;
}

const MARKS_BEFORE = 4;
const MARKS_AFTER = 6;
const BEFORE = `[*_\`~"'“‘(]{0,${MARKS_BEFORE}}`;
const AFTER = `[*_\`~"'”’).!]{0,${MARKS_AFTER}}`;

function tokenOf(token: string): Token {
  const part = token.split("").reduceRight((rest, sign) => `(?:${sign}${rest})?`, AFTER);
  const whole = new RegExp(`^${BEFORE}${token}${AFTER}$`, "i");
  const torn = new RegExp(`^${BEFORE}${part}$`, "i");
  return {
    isWhole: (word) => whole.test(word),
    mayBe: (word) => torn.test(word),
    mostLength: MARKS_BEFORE + token.length + MARKS_AFTER,
  };
}

/** A word `silent` alone on the last line is not released. The output has no blanks at its ends. */
export function createTidyText(silent: string): TidyText {
  const token = tokenOf(silent);
  const state: TidyState = { gap: "", afterCut: undefined, held: "", heldGap: "", shown: false, token: false };
  return {
    text(part) {
      let out = "";
      const end = part.trimEnd().length;
      for (let at = 0; at < part.length;) {
        const plain = canRelease(state) ? plainUntil(part, { at, end, gap: state.gap }, token) : at;
        if (plain > at) {
          out += letOutHeld(state) + state.gap + part.slice(at, plain);
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
    },
    cut() {
      state.gap = joinGap(state.gap, state.afterCut);
      state.afterCut = "";
    },
    end() {
      if (!token.isWhole(state.held)) return letOutHeld(state);
      state.token = true;
      state.held = "";
      return "";
    },
    silent: () => state.token && !state.shown,
  };
}

const RUN = /\s+|\S+/y;

/** Whether a word that comes now, and the one before it, are released with the blanks between them, unless it may be the token. */
const canRelease = ({ shown, held, gap, afterCut }: TidyState): boolean =>
  afterCut === undefined && (held === "" ? shown : gap !== "");

interface Stretch {
  readonly at: number;
  readonly end: number;
  /** The blanks before it. */
  readonly gap: string;
}

/**
 * Where the text from `at` to `end` ends that is released as it is: before its last word when that may be the token on its own line. A
 * word that others follow is none.
 */
function plainUntil(part: string, { at, end, gap }: Stretch, token: Token): number {
  const tail = part.slice(Math.max(at, end - token.mostLength - 1), end);
  const word = LAST_WORD.exec(tail)?.[0] ?? "";
  const start = end - word.length;
  if (!token.mayBe(word)) return Math.max(at, end);
  const before = at + part.slice(at, Math.max(at, start)).trimEnd().length;
  const blanks = (before === at ? gap : "") + part.slice(before, start);
  return blanks.includes("\n") ? before : Math.max(at, end);
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
  if (state.held !== "" && gap === "") {
    state.held += run;
    return token.mayBe(state.held) ? "" : letOutHeld(state);
  }
  const before = letOutHeld(state);
  state.held = run;
  state.heldGap = gap;
  const starts = !state.shown || gap.includes("\n");
  return starts && token.mayBe(run) ? before : before + letOutHeld(state);
}

function letOutHeld(state: TidyState): string {
  if (state.held === "") return "";
  const out = (state.shown ? state.heldGap : "") + state.held;
  state.shown = true;
  state.held = "";
  return out;
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
