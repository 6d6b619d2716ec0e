import type { AccountNotes } from "openclaw/plugin-sdk";
import { z } from "zod";

interface ListOptions<Item> {
  readonly notes: AccountNotes;
  readonly name: string;
  readonly item: z.ZodType<Item>;
  readonly most: number;
}

/** The last items of a kind, kept over restarts. */
export class PersistentList<Item> {
  readonly #terms: ListOptions<Item>;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(terms: ListOptions<Item>) {
    this.#terms = terms;
  }

  /** Oldest first; none when the note is not ours to read. May throw what the notes throw. */
  async all(): Promise<readonly Item[]> {
    const { notes, name, item } = this.#terms;
    const text = await notes.get(name);
    return text === undefined ? [] : (z.array(item).safeParse(parse(text)).data ?? []);
  }

  /** Resolves when it is durable. Two at once are added one after the other: neither loses the other. */
  async add(item: Item): Promise<void> {
    const turn = this.#turn.then(async () => {
      const { notes, name, most } = this.#terms;
      await notes.set(name, JSON.stringify([...(await this.all()), item].slice(-most)));
    });
    // Who asked for it hears of a failure; the next one in the row does not.
    this.#turn = turn.catch(() => undefined);
    await turn;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // As if nothing had been noted.
    return undefined;
  }
}
