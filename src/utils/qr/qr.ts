import { drawQr } from "./qr-draw.ts";

/** Of one version: bytes of the check of each block, then how many blocks there are of how many data bytes. */
type Blocks = readonly [check: number, ...groups: (readonly [count: number, data: number])[]];

/** ISO/IEC 18004, table 9, error correction level L. The row of version n is n - 1. */
const BLOCKS: readonly Blocks[] = [
  [7, [1, 19]],
  [10, [1, 34]],
  [15, [1, 55]],
  [20, [1, 80]],
  [26, [1, 108]],
  [18, [2, 68]],
  [20, [2, 78]],
  [24, [2, 97]],
  [30, [2, 116]],
  [18, [2, 68], [2, 69]],
  [20, [4, 81]],
  [24, [2, 92], [2, 93]],
  [26, [4, 107]],
  [30, [3, 115], [1, 116]],
  [22, [5, 87], [1, 88]],
  [24, [5, 98], [1, 99]],
  [28, [1, 107], [5, 108]],
  [30, [5, 120], [1, 121]],
  [28, [3, 113], [4, 114]],
  [28, [3, 107], [5, 108]],
];

/**
 * The QR code of a text as lines of `1` (dark) and `0`, without the quiet zone of four cells around it. Versions 1 to 20, which
 * is more than a login needs: throws a `RangeError` beyond 858 bytes.
 */
export function qrRows(text: string): readonly string[] {
  const bytes = [...new TextEncoder().encode(text)];
  const at = BLOCKS.findIndex((blocks, index) => bytes.length <= dataLength(blocks) - headBytes(index + 1));
  const blocks = BLOCKS[at];
  if (!blocks) throw new RangeError(`${bytes.length} bytes are too many for a QR code here`);
  const words = withChecks(dataWords(bytes, at + 1, dataLength(blocks)), blocks);
  return drawQr(words, at + 1);
}

const dataLength = ([, ...groups]: Blocks): number => groups.reduce((sum, [count, data]) => sum + count * data, 0);

/** Bits of the count of bytes. */
const countBits = (version: number): number => (version < 10 ? 8 : 16);
/** The mode, the count and the end, rounded up. */
const headBytes = (version: number): number => Math.ceil((4 + countBits(version)) / 8);

const BYTE_MODE = 4;
const PADS = [0xec, 0x11];

function dataWords(bytes: readonly number[], version: number, length: number): readonly number[] {
  const bits = [
    ...bitsOf(BYTE_MODE, 4),
    ...bitsOf(bytes.length, countBits(version)),
    ...bytes.flatMap((byte) => bitsOf(byte, 8)),
    0,
    0,
    0,
    0,
  ];
  const words = Array.from({ length: bits.length / 8 }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((word, bit) => word * 2 + bit, 0),
  );
  const pads = Array.from({ length: length - words.length }, (_, at) => PADS[at % 2] ?? 0);
  return [...words, ...pads];
}

const bitsOf = (value: number, length: number): readonly number[] =>
  Array.from({ length }, (_, at) => (value >> (length - 1 - at)) & 1);

/** Data and checks in the order in which they are drawn: the first word of each block, then the second … */
function withChecks(words: readonly number[], [check, ...groups]: Blocks): readonly number[] {
  const sizes = groups.flatMap(([count, data]) => Array.from({ length: count }, () => data));
  let start = 0;
  const blocks = sizes.map((size) => {
    const block = words.slice(start, start + size);
    start += size;
    return block;
  });
  const divisor = divisorOf(check);
  return [...inTurn(blocks), ...inTurn(blocks.map((block) => remainder(block, divisor)))];
}

function inTurn(blocks: readonly (readonly number[])[]): readonly number[] {
  const longest = Math.max(...blocks.map((block) => block.length));
  return Array.from({ length: longest }, (_, at) => blocks.flatMap((block) => block[at] ?? [])).flat();
}

/** The product in the field of 256 elements over x^8 + x^4 + x^3 + x^2 + 1. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> bit) & 1) * a);
  }
  return product;
}

/** (x - 1)(x - 2)(x - 4) … without its leading one, the highest power first. */
function divisorOf(degree: number): readonly number[] {
  const factors = Array.from({ length: degree - 1 }, () => 0);
  let divisor = [...factors, 1];
  let root = 1;
  for (let power = 0; power < degree; power += 1) {
    const of = root;
    divisor = divisor.map((factor, at) => times(factor, of) ^ (divisor[at + 1] ?? 0));
    root = times(root, 2);
  }
  return divisor;
}

function remainder(words: readonly number[], divisor: readonly number[]): readonly number[] {
  return words.reduce<readonly number[]>(
    (rest, word) => {
      const factor = word ^ (rest[0] ?? 0);
      return divisor.map((one, at) => (rest[at + 1] ?? 0) ^ times(one, factor));
    },
    divisor.map(() => 0),
  );
}
