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
  let readable = text;
  let named = false;
  // From the end, so that earlier offsets stay valid.
  for (const mention of fitting.toSorted((a, b) => b.start - a.start)) {
    const person = personOf(mention.uuid, mention.number, mention.name);
    const isSelf = isSame(person, readers.self);
    named ||= isSelf;
    if (text[mention.start] !== PLACEHOLDER) continue;
    const after = readable.slice(mention.start + mention.length);
    const isCall = isSelf && mention.start === 0 && after.trim() !== "";
    readable = isCall ? after.trimStart() : readable.slice(0, mention.start) + `@${shown(person, readers)}` + after;
  }
  return { text: readable, named };
}

const shown = (person: Person, { nameOf }: Readers): string => nameOf(person) ?? person.number ?? person.uuid ?? "?";
