import type { Span, StyledText } from "./styled.ts";

/** Invisible signs; a message of only these is refused. */
const INVISIBLE = /[\s\p{Cf}\p{Cc}\p{Variation_Selector}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/** Whether a person would see anything of a text. */
export function isVisible(text: string): boolean {
  return text.replace(INVISIBLE, "") !== "";
}

/** Blank lines are left out at a cut; so are blanks, unless they indent a line. */
export function skipBlanks(text: string, from: number): number {
  const midLine = from > 0 && text.charAt(from - 1) !== "\n";
  const blanks = midLine ? /[ \t]*(?:[ \t]*\n)*/y : /(?:[ \t]*\n)*/y;
  blanks.lastIndex = from;
  return from + (blanks.exec(text)?.[0].length ?? 0);
}

/** Where the part that begins at `from` ends: the last good place within `space` units. */
export function cutPlace(styled: StyledText, from: number, space: number): number {
  const { text, spans, borders } = styled;
  const end = from + space;
  if (end >= text.length) return text.length;
  const links = spans.filter((span) => span.style.kind === "link" && span.end > from && span.start < end);
  const border = borders.findLast((place) => place > from && place <= end) ?? from;
  const line = lastBreak(text, /\n/, { from, end, links });
  const word = lastBreak(text, /\s/, { from, end, links });
  // A good place too near the start would make a message of a few words.
  const early = from + space / 4;
  const good = [border, line, word].find((place) => place > early) ?? Math.max(border, line, word);
  return good > from ? good : hardCut(text, { from, end, links });
}

interface Stretch {
  readonly from: number;
  readonly end: number;
  readonly links: readonly Span[];
}

function lastBreak(text: string, blank: RegExp, { from, end, links }: Stretch): number {
  for (let at = end; at > from; at -= 1) {
    if (blank.test(text.charAt(at)) && linkAt(links, at) === undefined) return at;
  }
  return from;
}

function hardCut(text: string, { from, end, links }: Stretch): number {
  const link = linkAt(links, end);
  if (link !== undefined && link.start > from) return link.start;
  return signStart(text, from, end);
}

/** Units of the longest sign that is kept whole, such as a family of emoji or a Thai letter with its marks. */
const LONGEST_SIGN = 64;
/** Made when a text is cut for the first time: the engine reads its language data then, 17 ms and 8 MB. */
let signs: Intl.Segmenter | undefined;

/** The place itself, or the start of the sign that it would split. A sign longer than the part is split between characters. */
function signStart(text: string, from: number, end: number): number {
  signs ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const found = signs.segment(text.slice(from, end + LONGEST_SIGN));
  const place = from + (found.containing(end - from)?.index ?? end - from);
  if (place > from && end - place < LONGEST_SIGN) return place;
  const torn = text.charCodeAt(end) >> 10 === 0x37 && text.charCodeAt(end - 1) >> 10 === 0x36;
  return torn && end - 1 > from ? end - 1 : end;
}

function linkAt(links: readonly Span[], at: number): Span | undefined {
  return links.find((link) => link.start < at && at < link.end);
}
