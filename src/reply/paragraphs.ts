import { scanFences, spanAt } from "./fences.ts";

/** Blank lines behind which something begins that is not indented. */
const BREAK = /\n(?:[ \t]*\n)+(?=\S)/g;

/** The paragraphs of a text. Code fences stay whole, and what is indented belongs to what stands before it. */
export function paragraphsOf(text: string): readonly string[] {
  const fences = scanFences(text);
  const paragraphs: string[] = [];
  let from = 0;
  for (const { 0: blank, index } of text.matchAll(BREAK)) {
    if (spanAt(fences, index) !== undefined) continue;
    paragraphs.push(text.slice(from, index));
    from = index + blank.length;
  }
  return [...paragraphs, text.slice(from)].map((one) => one.trimEnd()).filter((one) => one !== "");
}
