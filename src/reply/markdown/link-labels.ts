import type { MarkdownIt, StateInline } from "markdown-it";

/** Steps that all searches for the ends of labels may take together: this many for each character, and some for a short text. */
const STEPS_PER_CHARACTER = 8;
const STEPS_OF_SHORT_TEXT = 4000;

const OPEN = 0x5b;
const CLOSE = 0x5d;

interface Search {
  /** Place after the last one where a label can end. */
  readonly end: number;
  steps: number;
}

/**
 * Bounds the cost of the search for the ends of link labels. The parser's own search starts again at every `[`, so that
 * a text of brackets takes seconds; brackets beyond the bound are text. Brackets that nothing closes cost nothing.
 */
export function boundLinkLabels(parser: MarkdownIt): void {
  const searches = new WeakMap<StateInline, Search>();
  parser.helpers = {
    ...parser.helpers,
    parseLinkLabel: (state, start, disableNested) => {
      const search = searches.get(state) ?? beginSearch(state);
      searches.set(state, search);
      return start < search.end ? labelEnd(state, { start, search, isFlat: disableNested === true }) : -1;
    },
  };
}

function beginSearch({ src, env, posMax }: StateInline): Search {
  // Without definitions a label belongs to a link only where an address follows it.
  const closing = hasReferences(env) ? "]" : "](";
  return { end: src.lastIndexOf(closing), steps: posMax * STEPS_PER_CHARACTER + STEPS_OF_SHORT_TEXT };
}

function hasReferences(env: unknown): boolean {
  return typeof env === "object" && env !== null && "references" in env;
}

interface Label {
  readonly start: number;
  readonly search: Search;
  /** No link may be inside. */
  readonly isFlat: boolean;
}

/** End of the label that begins at `start`; -1 when it does not end. The parser's place stays the same. */
function labelEnd(state: StateInline, { start, search, isFlat }: Label): number {
  const before = state.pos;
  state.pos = start + 1;
  const end = walk(state, search, isFlat);
  state.pos = before;
  return end;
}

function walk(state: StateInline, search: Search, isFlat: boolean): number {
  const last = Math.min(state.posMax - 1, search.end);
  for (let open = 1; state.pos <= last;) {
    search.steps -= 1;
    if (search.steps < 0) return -1;
    const at = state.pos;
    const sign = state.src.charCodeAt(at);
    if (sign === CLOSE) open -= 1;
    if (open === 0) return at;
    state.md.inline.skipToken(state);
    if (sign !== OPEN) continue;
    if (state.pos === at + 1) open += 1;
    else if (isFlat) return -1;
  }
  return -1;
}
