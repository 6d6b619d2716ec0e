import { expect, test } from "vitest";
import { type Entry, findEntries } from "../../extensions/webchat/page/palette/entries.ts";

const entry = (group: Entry["group"], title: string, more: Partial<Entry> = {}): Entry => ({
  id: `${group}:${title}`,
  group,
  title,
  run: () => undefined,
  ...more,
});

const ENTRIES = [
  entry("conversations", "Holidays in Málaga"),
  entry("conversations", "The jobs of Ann"),
  entry("views", "Jobs", { words: "view" }),
  entry("views", "Needs you"),
  entry("commands", "/new", { hint: "begins a new conversation" }),
  entry("actions", "New chat", { words: "begin conversation" }),
];

const titles = (query: string, chosen?: readonly Entry[]) =>
  findEntries(ENTRIES, query, chosen).map(({ group, entries }) => [group, ...entries.map(({ title }) => title)]);

test.each([
  [
    "job",
    [
      ["views", "Jobs"],
      ["conversations", "The jobs of Ann"],
    ],
  ],
  ["JOBS ann", [["conversations", "The jobs of Ann"]]],
  ["malaga", [["conversations", "Holidays in Málaga"]]],
  [
    "conv new",
    [
      ["actions", "New chat"],
      ["commands", "/new"],
    ],
  ],
  ["zeppelin", []],
] as const)("%j finds entries with all its words, by kind", (query, found) => {
  expect(titles(query)).toEqual(found);
});

test("a title that begins with the word comes before one in which it stands later", () => {
  const chats = ["Red tea", "A cup of tea", "Steamer", "Tea"].map((title) => entry("conversations", title));
  const [found] = findEntries(chats, "tea");
  expect(found?.entries.map(({ title }) => title)).toEqual(["Tea", "Red tea", "A cup of tea", "Steamer"]);
});

test("conversations that the gateway found are added once, also without the word in their title", () => {
  const [known] = ENTRIES;
  const found = titles("malaga", [known!, entry("conversations", "Spain")]);
  expect(found).toEqual([["conversations", "Holidays in Málaga", "Spain"]]);
});

test("without a word the long lists are short, and no kind is empty", () => {
  const chats = Array.from({ length: 30 }, (_, index) => entry("conversations", `Chat ${index}`));
  const [, list] = findEntries([...chats, entry("actions", "New chat")], "");
  expect(list?.entries).toHaveLength(5);
  expect(findEntries(chats, "chat")[0]?.entries).toHaveLength(12);
});
