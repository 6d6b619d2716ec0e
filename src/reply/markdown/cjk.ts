import type { MarkdownIt, StateInline } from "markdown-it";

/** Letters and punctuation of scripts that put no blanks between words. */
const CJK =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303f\ufe30-\ufe4f\uff00-\uffef]/u;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const BLANK = /^\s?$/;

type Delimiters = ReturnType<StateInline["scanDelims"]>;

/**
 * Lets marks begin and end beside the punctuation of Chinese, Japanese and Korean text, which has no blanks around words:
 * `**注意：**请` is bold. CommonMark alone asks for a blank there (its issue 650; the amendment is that of
 * "CommonMark CJK-friendly").
 */
export function markBesideCjk(parser: MarkdownIt): void {
  const Plain = parser.inline.State;
  parser.inline.State = class extends Plain {
    override scanDelims(start: number, canSplitWord: boolean): Delimiters {
      const plain = super.scanDelims(start, canSplitWord);
      const before = signBefore(this.src, start);
      const after = String.fromCodePoint(this.src.codePointAt(start + plain.length) ?? 0x20);
      return CJK.test(before + after) ? besideCjk(plain, { before, after }, canSplitWord) : plain;
    }
  };
}

function signBefore(text: string, at: number): string {
  const code = text.codePointAt(at - 2);
  return code !== undefined && code > 0xffff ? String.fromCodePoint(code) : text.charAt(at - 1);
}

interface Around {
  readonly before: string;
  readonly after: string;
}

function besideCjk(plain: Delimiters, { before, after }: Around, canSplitWord: boolean): Delimiters {
  const left = touches(after, before);
  const right = touches(before, after);
  return {
    ...plain,
    can_open: left && (canSplitWord || !right || PUNCTUATION.test(before)),
    can_close: right && (canSplitWord || !left || PUNCTUATION.test(after)),
  };
}

/** Whether a mark belongs to the text inside of it, by the sign there and the sign on the mark's other side. */
const touches = (inside: string, outside: string): boolean =>
  !BLANK.test(inside) &&
  (!isPlainPunctuation(inside) || BLANK.test(outside) || isPlainPunctuation(outside) || CJK.test(outside));

const isPlainPunctuation = (sign: string): boolean => PUNCTUATION.test(sign) && !CJK.test(sign);
