/** The kinds of entries, in the order in which they are shown. */
const ENTRY_GROUPS = ["actions", "views", "conversations", "agents", "commands"] as const;
export type EntryGroup = (typeof ENTRY_GROUPS)[number];

/** What the palette offers: a place to go to, or something to do. */
export interface Entry {
  /** Another one for each entry. */
  readonly id: string;
  readonly group: EntryGroup;
  readonly title: string;
  /** Beside the title. */
  readonly hint?: string;
  /** Further words by which it is found. */
  readonly words?: string;
  readonly run: () => void;
}

/** The entries of one kind. */
export interface FoundGroup {
  readonly group: EntryGroup;
  readonly entries: readonly Entry[];
}

/** Case and accents do not count. */
const folded = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();

/** Entries of one kind that are shown at most. */
const MOST = 12;
/** Without a typed word the long lists are cut here. */
const MOST_UNASKED = 5;

/**
 * The entries that have all typed words, by kind; inside a kind those whose title begins with the words come first. Entries in
 * `chosen` fit already, and keep their order.
 */
export function findEntries(
  entries: readonly Entry[],
  query: string,
  chosen: readonly Entry[] = [],
): readonly FoundGroup[] {
  const wanted = folded(query).split(/\s+/).filter(Boolean);
  const fitting = wanted.length === 0 ? entries : ranked(entries, wanted);
  const ids = new Set(fitting.map(({ id }) => id));
  const all = [...fitting, ...chosen.filter(({ id }) => !ids.has(id))];
  return ENTRY_GROUPS.map((group) => ({ group, entries: ofGroup(all, group, wanted.length > 0) })).filter(
    (found) => found.entries.length > 0,
  );
}

const ofGroup = (entries: readonly Entry[], group: EntryGroup, isAsked: boolean): readonly Entry[] => {
  const own = entries.filter((entry) => entry.group === group);
  if (isAsked) return own.slice(0, MOST);
  return group === "conversations" || group === "commands" ? own.slice(0, MOST_UNASKED) : own;
};

function ranked(entries: readonly Entry[], wanted: readonly string[]): readonly Entry[] {
  const first = wanted[0] ?? "";
  return entries
    .flatMap((entry) => {
      const title = folded(entry.title);
      const text = `${title} ${folded(entry.words ?? "")} ${folded(entry.hint ?? "")}`;
      if (!wanted.every((word) => text.includes(word))) return [];
      if (title.startsWith(first)) return [{ entry, rank: 0 }];
      return [{ entry, rank: title.includes(` ${first}`) ? 1 : 2 }];
    })
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry);
}
