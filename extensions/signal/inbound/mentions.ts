import { openingMentionEnd } from "openclaw/plugin-sdk";
import { isSame, personOf } from "../people.ts";
import type { Person } from "../people.ts";
import type { Mention } from "./schema.ts";

const PLACEHOLDER = "\uFFFC";

/** What the conversion of a text needs to know about people. */
export interface Readers {
  readonly self: Person;
  /** The name of a person, if known. */
  nameOf(person: Person): string | undefined;
}

export interface Addressed {
  readonly text: string;
  /** The text mentions us. */
  readonly named: boolean;
}

/** Replaces Signal's placeholders (U+FFFC; offsets are UTF-16 units) by names. Our own at the very start is removed. */
export function withNames(
  message: string | null | undefined,
  mentions: readonly Mention[] | null | undefined,
  readers: Readers,
): Addressed {
  const text = message ?? "";
  const fitting = (mentions ?? []).filter(({ start, length }) => start >= 0 && start + length <= text.length);
  const ours = fitting.filter((mention) => isSame(whoIn(mention), readers.self));
  const lengthAt = (offset: number) =>
    text[offset] === PLACEHOLDER ? (ours.find(({ start }) => start === offset)?.length ?? 0) : 0;
  const begin = openingMentionEnd(text, lengthAt);
  let readable = text;
  // From the end, so that earlier offsets stay valid.
  for (const mention of fitting.toSorted((a, b) => b.start - a.start)) {
    if (mention.start < begin || text[mention.start] !== PLACEHOLDER) continue;
    const after = readable.slice(mention.start + mention.length);
    readable = `${readable.slice(0, mention.start)}@${shown(whoIn(mention), readers)}${after}`;
  }
  return { text: readable.slice(begin), named: ours.length > 0 };
}

const whoIn = ({ uuid, number, name }: Mention): Person => personOf(uuid, number, name);

/** A mention names people by their id alone; our own number is known. */
function shown(person: Person, { nameOf, self }: Readers): string {
  const number = isSame(person, self) ? self.number : person.number;
  return nameOf(person) ?? number ?? person.uuid ?? "?";
}
