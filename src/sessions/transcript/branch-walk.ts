import type { FileHandle } from "node:fs/promises";
import { BackReader } from "./back-reader.ts";
import type { EntryLink } from "./entries.ts";
import { type Placed, readLine } from "./read-line.ts";

export interface WalkStart {
  /** The byte before which the walk begins. */
  readonly end: number;
  /** The entry that is read first. The last one of the file when undefined. */
  readonly wanted?: string | null | undefined;
  /** Whether an earlier walk has given the entry. */
  isGiven?(id: string): boolean;
}

/** An entry of a branch. */
export interface BranchStep {
  readonly link: EntryLink;
  /** The byte before which the walk continues. */
  readonly offset: number;
}

/**
 * Reads a branch from one of its entries towards the root. An entry that is not in the file, or cannot be read, is
 * replaced by an empty entry, and the previous entry of the file is read next: entries are only appended, so the
 * previous entry is usually the parent. An entry that somebody has moved is found at its new place. The cost
 * of a whole branch grows with its part of the file; the first entry that is not in front of its child costs one search
 * of the whole file.
 */
export class BranchWalk {
  /** Whether the walk has passed a message, of this branch or another one. */
  sawMessage = false;
  /** Places that could not be read: the bytes of lines, the ids of entries. */
  readonly damage = new Set<number | string>();
  /** The bytes of lines in which some values have a wrong type. The content of such a line may be read all the same. */
  readonly odd = new Set<number>();
  /** The lines that are too long to be read whole: their bytes, and how many they have. Also in `damage`. */
  readonly long = new Map<number, number>();
  readonly #file: FileHandle;
  #reader: BackReader;
  #wanted: string | null | undefined;
  /** Entries that were read and not returned yet, the next one last. */
  #ahead: Placed[] = [];
  /** The ends of all entries of the file by their ids. Set once an entry was not in front of its child. */
  #places: ReadonlyMap<string, number> | undefined;
  readonly #given = new Set<string>();
  readonly #isGivenBefore: (id: string) => boolean;
  #bytesBefore = 0;

  constructor(file: FileHandle, { end, wanted, isGiven = () => false }: WalkStart) {
    this.#file = file;
    this.#reader = new BackReader(file, end);
    this.#wanted = wanted;
    this.#isGivenBefore = isGiven;
  }

  /** Undefined at the root, or when nothing older exists. Rejects when the file cannot be read. */
  async next(): Promise<BranchStep | undefined> {
    const wanted = this.#wanted;
    if (wanted === null) return undefined;
    if (wanted === undefined) return this.#give(await this.#last());
    const { found, first } = await this.#find(wanted);
    if (found) return this.#give(found);
    this.damage.add(wanted);
    if (!first) return undefined;
    this.#wanted = first.link.id;
    return { link: { id: wanted, parentId: first.link.id }, offset: first.end };
  }

  /** The last entry, or the entry in front of it where that one is the child: somebody has exchanged the two. */
  async #last(): Promise<Placed | undefined> {
    const last = await this.#read();
    const inFront = await this.#read();
    if (last && inFront?.link.parentId === last.link.id) return inFront;
    if (inFront) this.#ahead.push(inFront);
    return last;
  }

  async #give(placed: Placed | undefined): Promise<BranchStep | undefined> {
    if (!placed) return undefined;
    const { link, offset } = placed;
    this.#given.add(link.id);
    const parentId = link.parentId === undefined ? await this.#inFront() : link.parentId;
    this.#wanted = parentId;
    return { link: { ...link, parentId, ...(link.entry && { entry: { ...link.entry, parentId } }) }, offset };
  }

  /** The entry before the last one read, for one that does not name its parent. */
  async #inFront(): Promise<string | null> {
    const placed = await this.#read();
    if (placed) this.#ahead.push(placed);
    return placed?.link.id ?? null;
  }

  /**
   * The wanted entry, or else the first one that was passed on the way to it, where the walk continues when the search fails.
   */
  async #find(wanted: string): Promise<{ found?: Placed; first?: Placed | undefined }> {
    const first = await this.#read();
    const isKnown = this.#places !== undefined;
    let placed = first;
    while (placed && placed.link.id !== wanted) placed = isKnown ? undefined : await this.#read();
    if (placed) return { found: placed };
    this.#places ??= await this.#allPlaces();
    const end = this.#given.has(wanted) || this.#isGivenBefore(wanted) ? undefined : this.#places.get(wanted);
    if (end !== undefined) this.#goBackTo(end);
    else if (first && isKnown) this.#ahead.push(first);
    else if (first) this.#goBackTo(first.end);
    const found = end === undefined ? undefined : await this.#read();
    return { first, ...(found && { found }) };
  }

  /** The places of all entries by their ids. Of two entries with the same id the later one counts. */
  async #allPlaces(): Promise<ReadonlyMap<string, number>> {
    const places = new Map<string, number>();
    const reader = new BackReader(this.#file, (await this.#file.stat()).size);
    for (let raw = await reader.previous(); raw; raw = await reader.previous())
      for (const { link, end } of readLine(raw).entries.toReversed())
        if (!places.has(link.id)) places.set(link.id, end);
    this.#bytesBefore += reader.bytesRead;
    return places;
  }

  #goBackTo(end: number): void {
    this.#bytesBefore += this.#reader.bytesRead;
    this.#reader = new BackReader(this.#file, end);
    this.#ahead = [];
  }

  async #read(): Promise<Placed | undefined> {
    for (;;) {
      const ready = this.#ahead.pop();
      if (ready) return ready;
      const raw = await this.#reader.previous();
      if (!raw) return undefined;
      const { entries, isWhole, isOdd } = readLine(raw);
      if (!isWhole) this.damage.add(raw.offset);
      if (isOdd) this.odd.add(raw.offset);
      if (raw.isCut) this.long.set(raw.offset, raw.end - raw.offset);
      if (entries.some(({ link }) => link.entry?.type === "message")) this.sawMessage = true;
      this.#ahead.push(...entries);
    }
  }

  get bytesRead(): number {
    return this.#bytesBefore + this.#reader.bytesRead;
  }
}
