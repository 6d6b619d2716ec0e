/** The numbers in a text such as `1-5,8`, in order, each once; at most `most`. Undefined for another text. */
export function pageNumbers(text: string, most: number): readonly number[] | undefined {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^\s*([1-9]\d{0,4})(?:\s*-\s*([1-9]\d{0,4}))?\s*$/.exec(part) ?? [];
    if (first === undefined || Number(last) < Number(first)) return undefined;
    for (let number = Number(first); number <= Number(last) && found.size <= most; number += 1) found.add(number);
  }
  return [...found].toSorted((a, b) => a - b).slice(0, most);
}
