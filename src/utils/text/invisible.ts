/**
 * A sign that shows nothing: signs that Unicode calls ignorable by default or format signs, controls, and signs that
 * mark a letter without room of their own. Line breaks and blanks are none of these.
 */
const UNSEEN = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}\p{Me}\p{Cc}]$/u;
/** U+2800 is a letter of Braille without dots. */
const BLANK = /^[\p{Zs}\t\u2800]$/u;
/** Characters that end a line for a reader, also where a regular expression sees no line end. */
const LINE_BREAK = /^[\n\r\v\f\u0085\u2028\u2029]$/;

/** Characters that look like an ASCII character and are not mapped to it by Unicode's compatibility forms (UTS 39, confusables). */
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map([
  ...pairs("абвсԁеһіјкӏмнопрԛгѕтуүхѵԝь", "abbcdehijklmhonpqrstyyxvwb"),
  ...pairs("αβγεηικμνορστυχ", "abyenikuvopstux"),
  ...pairs("ıɡꜱʏᴛᴇᴍᴀᴜʀɴᴅɪոօսѐ", "igsytemaurndinoue"),
  ...pairs("∶ː꞉׃։﹕︰", ":::::::"),
  ...pairs("【〔〚⟦❲】〕〛⟧❳", "[[[[[]]]]]"),
  ...pairs("‹〈⟨«›〉⟩»∣ǀ", "<<<<>>>>||"),
]);

/** Capitals that look like ASCII while their lower-case forms do not. */
const CAPITAL_LOOKS_LIKE: ReadonlyMap<string, string> = new Map(pairs("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧВНМТ", "abezhikmnoptyxbhmt"));

function pairs(from: string, to: string): (readonly [string, string])[] {
  const signs = Array.from(to);
  return Array.from(from).map((sign, at) => [sign, signs[at] ?? sign] as const);
}

/** A text as it looks, with the position of each character in the original text. */
export interface FoldedLooks {
  readonly text: string;
  /** UTF-16 offset in the original of each unit of `text`; one more at the end. */
  readonly at: readonly number[];
}

/**
 * A text by its looks: small letters, letters of other scripts as the ASCII letters that they look like, without marks
 * and signs that show nothing, each blank a space, each line break a line feed. For comparing only.
 */
export function foldLooks(text: string): FoldedLooks {
  let folded = "";
  const at: number[] = [];
  let offset = 0;
  for (const sign of text) {
    const shown = foldSign(sign);
    for (let unit = 0; unit < shown.length; unit += 1) at.push(offset);
    folded += shown;
    offset += sign.length;
  }
  return { text: folded, at: [...at, offset] };
}

function foldSign(sign: string): string {
  if (sign >= " " && sign <= "~") return sign.toLowerCase();
  const known = FOLDED.get(sign);
  if (known !== undefined) return known;
  if (LINE_BREAK.test(sign)) return "\n";
  if (BLANK.test(sign)) return " ";
  if (UNSEEN.test(sign)) return "";
  const capital = CAPITAL_LOOKS_LIKE.get(sign);
  if (capital !== undefined) return capital;
  return Array.from(sign.normalize("NFKD").toLowerCase(), foldPart).join("");
}

const FOLDED: ReadonlyMap<string, string> = new Map([
  ["\n", "\n"],
  ["\r", "\n"],
]);

function foldPart(sign: string): string {
  if (UNSEEN.test(sign)) return "";
  if (/^\p{Pd}$/u.test(sign)) return "-";
  return BLANK.test(sign) ? " " : (LOOKS_LIKE.get(sign) ?? sign);
}
