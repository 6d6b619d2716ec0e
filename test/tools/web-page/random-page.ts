/** Numbers that are the same for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const NAMES = ["div", "p", "span", "b", "ul", "li", "section", "i"];
const CLASSES = ["a", "b", "c", "d", "E"];
const STATES = (
  "first-child last-child only-child empty root hover first-of-type last-of-type nth-child(2n+1) nth-child(2) " +
  "nth-last-child(2) nth-of-type(2)"
).split(" ");
const CONDITIONS = [
  "screen",
  "print",
  "(min-width:600px)",
  "(max-width:600px)",
  "not print",
  "(width>=1000px) and (hover)",
];

/** A page with random rules that hide and show elements, in which each word is `W` and a number. */
export function randomPage(seed: number): string {
  const below = numbersFrom(seed);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const several = (most: number, make: () => string, between: string): string =>
    Array.from({ length: 1 + below(most) }, make).join(between);
  const part = (depth: number): string =>
    pick([
      () => `.${pick(CLASSES)}`,
      () => `#i${below(4)}`,
      () => `[data-x${pick(["", `="${below(3)}"`, `^="${below(3)}"`, `~="${below(3)}"`])}]`,
      () => `:${pick(STATES)}`,
      () => (depth > 0 ? `:${pick(["is", "not", "where", "has"])}(${list(depth - 1)})` : `.${pick(CLASSES)}`),
    ])();
  const compound = (depth: number): string => pick(["", ...NAMES, "*"]) + several(2, () => part(depth), "");
  const selector = (depth: number): string =>
    Array.from({ length: below(3) }, () => compound(depth) + pick([" ", " > ", " + ", " ~ "])).join("") +
    compound(depth);
  const list = (depth: number): string => several(2, () => selector(depth), ", ");
  const shows = (): string =>
    `display:${pick(["none", "none", "block", "inline"])}${below(6) === 0 ? "!important" : ""}`;
  const rule = (): string =>
    pick([
      () => `${list(1)}{color:red; ${pick(["& ", "", "&"])}${pick([".a", ".b", "#i1"])}{${shows()}} }`,
      () => `@media ${pick(CONDITIONS)}{${list(1)}{${shows()}}}`,
      () => `${list(2)}{${shows()}}`,
      () => `${list(2)}{${shows()}}`,
    ])();
  let words = 0;
  const element = (depth: number): string => {
    const name = depth > 2 ? pick(["span", "b", "i"]) : pick(["div", "section", "ul"]);
    const facts = [
      below(2) === 0 ? "" : ` class="${several(2, () => pick(CLASSES), " ")}"`,
      below(4) === 0 ? ` id=i${below(4)}` : "",
      below(4) === 0 ? ` data-x="${below(3)} ${below(3)}"` : "",
      below(8) === 0 ? ` style="${shows()}"` : "",
    ].join("");
    const text = below(3) === 0 ? "" : `W${++words} `;
    const inner = depth > 3 ? "" : Array.from({ length: below(4) }, () => element(depth + 1)).join("");
    return `<${name}${facts}>${text}${inner}</${name}>`;
  };
  const rules = several(5, rule, "\n");
  const body = Array.from({ length: 3 }, () => element(0)).join("");
  return `<!doctype html><html><head><title>t</title><style>${rules}</style></head><body>${body}</body></html>`;
}
