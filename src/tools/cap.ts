/** Most bytes of text in a tool's result. */
export const MAX_RESULT_BYTES = 50 * 1024;
/** Most bytes of the content itself; the rest is for notes about it. */
export const CONTENT_BYTES = MAX_RESULT_BYTES - 1024;
/** Most lines of text in a tool's result. */
export const MAX_LINES = 2000;

const encoder = new TextEncoder();

/** The longest beginning of a text within `bytes` of UTF-8; never half a character. */
export function headBytes(text: string, bytes: number): string {
  // One UTF-16 unit is at least one byte, so more units cannot fit, and a long string need not be encoded whole.
  const candidate = text.slice(0, bytes);
  const { read } = encoder.encodeInto(candidate, new Uint8Array(bytes));
  const cut = candidate.slice(0, read);
  return cut.length < text.length && /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** The longest end of a text within `bytes` of UTF-8; never half a character. */
function tailBytes(text: string, bytes: number): string {
  const candidate = Buffer.from(text.slice(-bytes));
  let start = Math.max(0, candidate.length - bytes);
  while (start < candidate.length && ((candidate[start] ?? 0) & 0xc0) === 0x80) {
    start += 1;
  }
  return candidate.subarray(start).toString();
}

export interface Tail {
  readonly text: string;
  readonly truncated: boolean;
}

/** The last lines of an output, within both limits. */
export function tailOf(text: string, limits: { lines: number; bytes: number }): Tail {
  const lines = text.split("\n");
  const kept = lines.length > limits.lines ? lines.slice(-limits.lines).join("\n") : text;
  const cut = tailBytes(kept, limits.bytes);
  return { text: cut, truncated: cut.length < text.length };
}
