import { correction, generate, mode } from "lean-qr";

/** Bytes of a QR code of version 20, level L (ISO/IEC 18004, table 7). Larger ones fit on few terminals. */
const MOST_BYTES = 858;

/**
 * The QR code of a text as lines of `1` (dark) and `0`, without the quiet zone of four cells around it. Error correction is
 * level L, for the smallest code. Throws a `RangeError` beyond 858 bytes, which is more than a login needs.
 */
export function qrRows(text: string): readonly string[] {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST_BYTES) throw new RangeError(`${bytes.length} bytes are too many for a QR code here`);
  const code = generate(mode.bytes(bytes), { maxCorrectionLevel: correction.L });
  const cells = Array.from({ length: code.size }, (_, at) => at);
  return cells.map((y) => cells.map((x) => (code.get(x, y) ? "1" : "0")).join(""));
}
