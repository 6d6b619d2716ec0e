const HEAD_SHARE = 0.7;
const TAIL_SHARE = 0.2;
const MARKER = "[... content truncated ...]";

/** Keeps 70 % from the beginning and 20 % from the end, with a marker between. */
export function truncateMiddle(content: string, maxChars: number): string {
  if (content.length <= maxChars) {
    return content;
  }
  if (maxChars <= 0) return MARKER;
  const head = content.slice(0, Math.floor(maxChars * HEAD_SHARE)).replace(/[\uD800-\uDBFF]$/, "");
  const tail = content.slice(content.length - Math.floor(maxChars * TAIL_SHARE)).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n\n${MARKER}\n\n${tail}`;
}
