/** A text with one form of spaces, quotes and dashes, and the place of each of its characters in the original. */
export interface FoldedText {
  readonly text: string;
  /** First place of each character in the original, and the place after it. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

const PLAIN: ReadonlyMap<number, number> = new Map(
  [
    ["‘’‚‛′ʼ", "'"],
    ["“”„‟″", '"'],
    ["‐‑‒–—―−", "-"],
    ["\u00A0\u1680\u202F\u205F\u3000\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A", " "],
  ].flatMap(([fancy = "", plain = ""]) =>
    Array.from(fancy).map((char): [number, number] => [char.charCodeAt(0), plain.charCodeAt(0)]),
  ),
);

const SPACE = 0x20;
const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** Characters that cannot be seen, so no model writes them. */
const INVISIBLE: ReadonlySet<number> = new Set([0x200b, 0xfeff]);

/**
 * Folds a text: one space for any number of spaces and tabs, none at the end of a line, `\n` for `\r\n`, plain quotes
 * and dashes for typographic ones.
 */
export function fold(text: string): FoldedText {
  const codes = new Uint16Array(text.length);
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let length = 0;
  /** Place where the last read spaces begin; -1 when the last character is no space. */
  let gap = -1;
  const put = (code: number, start: number, end: number): void => {
    codes[length] = code;
    starts[length] = start;
    ends[length] = end;
    length += 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = plainCode(text, at);
    if (code === SPACE) gap = gap < 0 ? at : gap;
    if (code === SPACE || code < 0) continue;
    if (gap >= 0 && code !== NEWLINE) put(SPACE, gap, at);
    put(code, gap >= 0 && code === NEWLINE ? gap : at, at + 1);
    gap = -1;
  }
  return { text: decoded(codes.subarray(0, length)), starts, ends };
}

/** The code of a character for comparisons; -1 for a character that does not count. */
function plainCode(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === TAB) return SPACE;
  if (code === RETURN) return text.charCodeAt(at + 1) === NEWLINE ? -1 : code;
  if (code < 0x80) return code;
  return INVISIBLE.has(code) ? -1 : (PLAIN.get(code) ?? code);
}

const decoded = (codes: Uint16Array): string =>
  Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString("utf16le");
