/** Number of pieces that are joined into one, because each piece takes memory. */
const MOST_PIECES = 256;

/** The end of a growing text. Its memory is bounded, whatever the sizes of the added pieces. */
export class KeptText {
  readonly #most: number;
  #pieces: string[] = [];
  #length = 0;

  /** `most` is the number of characters that are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  add(piece: string): void {
    if (piece === "") return;
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length > 2 * this.#most || this.#pieces.length > MOST_PIECES) this.text();
  }

  text(): string {
    const all = this.#pieces.join("");
    const kept = all.length > this.#most ? all.slice(startOfCharacter(all, all.length - this.#most)) : all;
    this.#pieces = [kept];
    this.#length = kept.length;
    return kept;
  }
}

/** The index itself, or the next one when the index would cut a character of two units. */
function startOfCharacter(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index + 1 : index;
}
