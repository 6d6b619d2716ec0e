/** ISO/IEC 18004, annex E: centres of the alignment patterns. The row of version n is n - 1. */
const CENTRES: readonly (readonly number[])[] = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
  [6, 30, 54],
  [6, 32, 58],
  [6, 34, 62],
  [6, 26, 46, 66],
  [6, 26, 48, 70],
  [6, 26, 50, 74],
  [6, 30, 54, 78],
  [6, 30, 56, 82],
  [6, 30, 58, 86],
  [6, 34, 62, 90],
];

type Mask = (x: number, y: number) => boolean;

const MASKS: readonly Mask[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Cells that are drawn; undefined is free for data. */
type Cells = (boolean | undefined)[][];

/** Draws code words with the mask that disturbs a camera least; lines of `1` and `0`. */
export function drawQr(words: readonly number[], version: number): readonly string[] {
  const drawn = MASKS.map((mask, number) => {
    const cells = frameOf(version);
    drawFormat(cells, number);
    fill(cells, words, mask);
    return cells.map((row) => row.map((cell) => (cell === true ? "1" : "0")).join(""));
  });
  return drawn.reduce((best, next) => (penaltyOf(next) < penaltyOf(best) ? next : best));
}

function frameOf(version: number): Cells {
  const size = version * 4 + 17;
  const cells: Cells = Array.from({ length: size }, () => Array.from({ length: size }, () => undefined));
  for (let at = 0; at < size; at += 1) {
    set(cells, 6, at, at % 2 === 0);
    set(cells, at, 6, at % 2 === 0);
  }
  for (const [x, y] of cornersOf(3, size - 4)) drawRings(cells, { x, y, reach: 4 }, (ring) => ring !== 2 && ring !== 4);
  for (const [x, y] of alignmentsOf(version)) drawRings(cells, { x, y, reach: 2 }, (ring) => ring !== 1);
  if (version >= 7) drawVersion(cells, version);
  return cells;
}

type Place = readonly [x: number, y: number];

const cornersOf = (near: number, far: number): readonly Place[] => [
  [near, near],
  [far, near],
  [near, far],
];

/** Everywhere where two centres cross but in the three corners. */
function alignmentsOf(version: number): readonly Place[] {
  const centres = CENTRES[version - 1] ?? [];
  const taken = new Set(cornersOf(6, centres.at(-1) ?? 6).map(String));
  return centres.flatMap((x) => centres.map((y) => [x, y] as const)).filter((place) => !taken.has(String(place)));
}

function set(cells: Cells, x: number, y: number, dark: boolean): void {
  const row = cells[y];
  if (row && x >= 0 && x < row.length) row[x] = dark;
}

function drawRings(
  cells: Cells,
  { x, y, reach }: { x: number; y: number; reach: number },
  isDark: (ring: number) => boolean,
): void {
  for (let dy = -reach; dy <= reach; dy += 1) {
    for (let dx = -reach; dx <= reach; dx += 1) {
      set(cells, x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }
}

/** A number with the remainder of its division by a polynomial behind it. */
function withRemainder(value: number, polynomial: number, length: number): number {
  const top = 1 << length;
  let rest = value;
  for (let at = 0; at < length; at += 1) {
    rest <<= 1;
    if ((rest & top) !== 0) rest ^= polynomial;
  }
  return (value << length) | rest;
}

const bit = (value: number, at: number): boolean => ((value >> at) & 1) === 1;

const LEVEL_L = 1;

function drawFormat(cells: Cells, mask: number): void {
  const size = cells.length;
  const format = withRemainder((LEVEL_L << 3) | mask, 0x537, 10) ^ 0x5412;
  for (let at = 0; at < 15; at += 1) {
    const dark = bit(format, at);
    const [x, y] = formatPlace(at);
    set(cells, x, y, dark);
    if (at < 8) set(cells, size - 1 - at, 8, dark);
    else set(cells, 8, size - 15 + at, dark);
  }
  set(cells, 8, size - 8, true);
}

/** Around the first corner, past the timing lines. */
function formatPlace(at: number): Place {
  if (at < 6) return [8, at];
  if (at < 8) return [8, at + 1];
  return at === 8 ? [7, 8] : [14 - at, 8];
}

function drawVersion(cells: Cells, version: number): void {
  const value = withRemainder(version, 0x1f25, 12);
  for (let at = 0; at < 18; at += 1) {
    const [near, far] = [Math.floor(at / 3), cells.length - 11 + (at % 3)];
    set(cells, near, far, bit(value, at));
    set(cells, far, near, bit(value, at));
  }
}

/** Two columns at a time from the right, up and down in turn, past the upright timing line. */
function fill(cells: Cells, words: readonly number[], mask: Mask): void {
  let next = 0;
  const place = (x: number, y: number): void => {
    const row = cells[y];
    if (!row || row[x] !== undefined) return;
    const dark = bit(words[next >> 3] ?? 0, 7 - (next & 7));
    next += 1;
    row[x] = dark !== mask(x, y);
  };
  for (let pair = 0; pair < (cells.length - 1) / 2; pair += 1) {
    const right = cells.length - 1 - pair * 2;
    const x = right <= 6 ? right - 1 : right;
    for (let step = 0; step < cells.length; step += 1) {
      const y = pair % 2 === 0 ? cells.length - 1 - step : step;
      place(x, y);
      place(x - 1, y);
    }
  }
}

/** What a camera may stumble over: long runs, squares, false corners, too much of one colour. */
function penaltyOf(rows: readonly string[]): number {
  const columns = rows.map((_, x) => rows.map((row) => row[x]).join(""));
  const lines = [...rows, ...columns];
  const runs = lines.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []).reduce((sum, run) => sum + run.length - 2, 0);
  const corners = lines.flatMap((line) => line.match(/(?=10111010000|00001011101)/g) ?? []).length;
  const dark = rows.join("").replaceAll("0", "").length / rows.length ** 2;
  return runs + squaresIn(rows) * 3 + corners * 40 + Math.floor(Math.abs(dark - 0.5) * 20) * 10;
}

function squaresIn(rows: readonly string[]): number {
  let found = 0;
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length - 1; x += 1) {
      const four = [row[x], row[x + 1], rows[y + 1]?.[x], rows[y + 1]?.[x + 1]];
      if (new Set(four).size === 1) found += 1;
    }
  }
  return found;
}
