import type { AccountNotes } from "openclaw/plugin-sdk";
import { z } from "zod";

interface ListOptions<Item> {
  readonly notes: AccountNotes;
  readonly name: string;
  readonly item: z.ZodType<Item>;
  readonly most: number;
}

/** A list in the account's notes that survives restarts and keeps the newest items. */
export class PersistentList<Item> {
  readonly #terms: ListOptions<Item>;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(terms: ListOptions<Item>) {
    this.#terms = terms;
  }

  /** All items, oldest first, without items of another format. May throw the errors of the notes. */
  async all(): Promise<readonly Item[]> {
    const { notes, name, item } = this.#terms;
    const text = await notes.get(name);
    const items = z.array(z.unknown()).safeParse(text === undefined ? [] : parse(text)).data ?? [];
    // An invalid item costs no other item: the next `add` writes the items that are returned here.
    return items.flatMap((one) => item.safeParse(one).data ?? []);
  }

  /**
   * Adds the item as the newest; an item that is there moves. Resolves when the list is durable. Concurrent calls run
   * one after the other, so that neither overwrites the other.
   */
  async add(item: Item): Promise<void> {
    const turn = this.#turn.then(async () => {
      const { notes, name, most } = this.#terms;
      const others = (await this.all()).filter((other) => JSON.stringify(other) !== JSON.stringify(item));
      await notes.set(name, JSON.stringify([...others, item].slice(-most)));
    });
    // Only the caller of this `add` gets its failure.
    this.#turn = turn.catch(() => undefined);
    await turn;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An unreadable note counts as empty.
    return undefined;
  }
}
