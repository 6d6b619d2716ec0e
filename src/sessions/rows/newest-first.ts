import type { SessionKey } from "../../types/ids.ts";

/** What decides the order of sessions. */
export interface Position {
  readonly key: SessionKey;
  /** Epoch milliseconds. */
  readonly usedAt: number;
  /** The channel of its chat, if it has one. */
  readonly channel: string | undefined;
}

/** Lists of sessions, each with a name and the newest first. Finds an index by binary search. */
export class NewestFirst {
  readonly #lists = new Map<string, Position[]>();

  add(name: string, position: Position): void {
    const list = this.#lists.get(name) ?? [];
    this.#lists.set(name, list);
    list.splice(indexOf(list, position), 0, position);
  }

  remove(name: string, position: Position): void {
    const list = this.#lists.get(name) ?? [];
    const index = indexOf(list, position);
    if (list[index]?.key === position.key) list.splice(index, 1);
    if (list.length === 0) this.#lists.delete(name);
  }

  /** What these lists have, in one order; once, what several of them have. */
  *of(names: readonly string[]): Generator<Position> {
    const places = names.map((name) => ({ list: this.#lists.get(name) ?? [], at: 0 }));
    const [only, ...others] = places;
    if (only && others.length === 0) return yield* only.list;
    for (;;) {
      const first = places.flatMap(({ list, at }) => list[at] ?? []).toSorted(byTime)[0];
      if (!first) return;
      yield first;
      for (const place of places) if (place.list[place.at]?.key === first.key) place.at += 1;
    }
  }
}

/** The index of a position in the order, or where it would be inserted. */
function indexOf(positions: readonly Position[], position: Position): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = positions[middle];
    if (other && isBefore(other, position)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isBefore = (one: Position, other: Position): boolean =>
  one.usedAt === other.usedAt ? one.key < other.key : one.usedAt > other.usedAt;

const byTime = (one: Position, other: Position): number => (isBefore(one, other) ? -1 : 1);
