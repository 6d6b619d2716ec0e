import { scanFences, spanTest } from "./fences.ts";

/** Blank lines before text that is not indented. Only the first line break of a run is tried. */
const BREAK = /(?<!\n[ \t]*)\n(?:[ \t]*\n)+(?=\S)/g;

/** The paragraphs of a text. Code fences stay whole, and indented text belongs to the text before it. */
export function paragraphsOf(text: string): readonly string[] {
  const inFence = spanTest(scanFences(text));
  const paragraphs: string[] = [];
  let from = 0;
  for (const { 0: blank, index } of text.matchAll(BREAK)) {
    if (inFence(index)) continue;
    paragraphs.push(text.slice(from, index));
    from = index + blank.length;
  }
  return [...paragraphs, text.slice(from)].map((one) => one.trimEnd()).filter((one) => one !== "");
}
