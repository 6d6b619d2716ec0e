/** Cuts a text at the given places, taken modulo its length. */
export function cutInto(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place));
}
