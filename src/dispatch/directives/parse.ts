import type { CommandAccess } from "../../types/contribution.ts";
import { DIRECTIVES, type Directive, type DirectiveValues, type KnownWords } from "./table.ts";

/** A directive that was found in a text. */
export interface FoundDirective {
  /** The command with the same meaning for the whole session. */
  readonly command: Directive["command"];
  /** The people who may use the directive. */
  readonly who: CommandAccess;
  /** The arguments that the command would get. */
  readonly args: string;
  readonly values: DirectiveValues;
  /** The places where the directive begins and ends in the text, in UTF-16 units, without the white space around it. */
  readonly from: number;
  readonly to: number;
}

const NAME = /(?<=^|\s)\/([a-z]+)(?=[:\s])[ \t]*:?/gi;
/** The words of a directive are on its line. */
const WORD = /[ \t]*([^\s]+)/y;
/** Most words that a directive takes: the mode of a queue and its three numbers. */
const MOST_WORDS = 4;
/** Characters of a message that may have directives: nobody types a longer one. */
const MOST_CHARS = 100_000;
/** Directives of one message that are read; more than anybody writes. */
const MOST_FOUND = 16;
const NO_MODELS: KnownWords = { modelOf: () => undefined };
const FENCE = /^[ \t]*(`{3,}|~{3,})/;

/**
 * The directives in a text, in their order: a name after a slash, at the beginning or after white space, and a value
 * that the directive knows. All else stays text: a path, an unknown value, the content of a block of code. A text
 * without a slash costs next to nothing. Pure.
 */
export function directivesIn(text: string, known: KnownWords = NO_MODELS): readonly FoundDirective[] {
  if (text.length > MOST_CHARS || !text.includes("/")) return [];
  const found: FoundDirective[] = [];
  let isCode: ((at: number) => boolean) | undefined;
  let end = 0;
  for (const match of text.matchAll(NAME)) {
    // The words of a directive may look like another directive.
    const directive = match.index < end ? undefined : readDirective(match, text, known);
    if (!directive) continue;
    end = directive.to;
    isCode ??= codeIn(text);
    if (!isCode(directive.from)) found.push(directive);
    if (found.length === MOST_FOUND) break;
  }
  return found;
}

function readDirective(match: RegExpExecArray, text: string, known: KnownWords): FoundDirective | undefined {
  const directive = DIRECTIVES.get((match[1] ?? "").toLowerCase());
  if (!directive) return undefined;
  const words = wordsAfter(text, match.index + match[0].length);
  const read = directive.read(
    words.map(({ word }) => word),
    known,
  );
  const own = words.slice(0, read?.count ?? 0);
  const to = own.at(-1)?.to;
  if (!read || to === undefined) return undefined;
  const args = own.map(({ word }) => word).join(" ");
  return { command: directive.command, who: directive.who, args, values: read.values, from: match.index, to };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns a function that says whether a place is in a block of code. Its calls must name the places in their order.
 */
function codeIn(text: string): (at: number) => boolean {
  const blocks = codeBlocksOf(text);
  let next = 0;
  return (at) => {
    while ((blocks[next]?.to ?? Infinity) <= at) next += 1;
    return (blocks[next]?.from ?? Infinity) <= at;
  };
}

/** Fenced blocks of Markdown; a block that is not closed ends with the text. */
function codeBlocksOf(text: string): readonly Span[] {
  const blocks: Span[] = [];
  let open: { readonly fence: string; readonly from: number } | undefined;
  let at = 0;
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line)?.[1];
    if (!open && fence !== undefined) open = { fence, from: at };
    else if (open && fence?.startsWith(open.fence)) {
      blocks.push({ from: open.from, to: at + line.length });
      open = undefined;
    }
    at += line.length + 1;
  }
  return open ? [...blocks, { from: open.from, to: text.length }] : blocks;
}

function wordsAfter(text: string, from: number): readonly { readonly word: string; readonly to: number }[] {
  const words: { word: string; to: number }[] = [];
  WORD.lastIndex = from;
  while (words.length < MOST_WORDS) {
    const match = WORD.exec(text);
    if (!match?.[1]) break;
    words.push({ word: match[1], to: WORD.lastIndex });
  }
  return words;
}

/**
 * The text without these directives. White space between other words stays; each directive takes one white space with
 * it. Pure.
 */
export function withoutDirectives(text: string, found: readonly Span[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to } of found) {
    parts.push(text.slice(at, from));
    at = to + (ONE_SPACE.exec(text.slice(to, to + 2))?.[0].length ?? 0);
  }
  const rest = text.slice(at);
  // A directive at the end takes the white space before it.
  return rest === "" ? parts.join("").replace(ONE_SPACE_AT_END, "") : parts.join("") + rest;
}

const ONE_SPACE = /^(?:\r\n|\s)/;
const ONE_SPACE_AT_END = /(?:\r\n|\s)$/;
