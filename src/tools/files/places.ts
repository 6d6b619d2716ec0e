/** Products of lengths up to which the engine's own search is fast even for its worst texts. */
const MOST_QUADRATIC = 20_000_000;

/** The first two places where a text has another one, which may overlap. The time grows with the lengths, never with their product. */
export function placesOf(wanted: string, text: string): readonly number[] {
  if (wanted === "") return [];
  const next = wanted.length * text.length > MOST_QUADRATIC ? linear(wanted, text) : plain(wanted, text);
  const first = next(0);
  if (first < 0) return [];
  const second = next(first + 1);
  return second < 0 ? [first] : [first, second];
}

type Search = (from: number) => number;

const plain =
  (wanted: string, text: string): Search =>
  (from) =>
    text.indexOf(wanted, from);

/** The search of Knuth, Morris and Pratt: it looks at each character of the text once. */
function linear(wanted: string, text: string): Search {
  const borders = bordersOf(wanted);
  return (from) => {
    let matched = 0;
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
      if (wanted.charCodeAt(matched) === code) matched += 1;
      if (matched === wanted.length) return at - matched + 1;
    }
    return -1;
  };
}

/** For each beginning of the text the length of its longest part that is both its own beginning and its end. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (text.charCodeAt(length) === code) length += 1;
    borders[at] = length;
  }
  return borders;
}
