import type { SenderNames, ToolLists } from "../../types/tool-policy.ts";
import { own } from "../../utils/own.ts";
import { once } from "../../utils/share-calls.ts";

type ListsByName = Readonly<Record<string, ToolLists>>;

/** An entry about a sender, with its key. */
export interface SenderRule {
  readonly name: string;
  readonly lists: ToolLists;
}

/** Entries by their keys in one notation: a key without a prefix is an id. */
const normalKeys = once((rules: ListsByName): Readonly<Record<string, SenderRule>> =>
  Object.fromEntries(Object.entries(rules).map(([name, lists]) => [normalKey(name), { name, lists }])),
);

const PREFIX = /^(?:channel|id|e164|username|name):/;

function normalKey(key: string): string {
  const plain = key.trim().toLowerCase();
  if (plain === "*") return plain;
  const prefixed = PREFIX.test(plain) ? plain : `id:${plain}`;
  return prefixed.replace(/^username:@/, "username:");
}

/**
 * The entry about a sender: by `channel:<channel>:<id>`, `id:`, `e164:`, `username:` or `name:`, the first of these that
 * exists, else `*`. Pure.
 */
export function senderRule(rules: ListsByName, sender: SenderNames): SenderRule | undefined {
  const { channel, id, e164, username, name } = sender;
  const keys = [
    `channel:${channel}:${id}`,
    `id:${id}`,
    ...(e164 === undefined ? [] : [`e164:${e164}`]),
    ...(username === undefined ? [] : [`username:${username}`]),
    ...(name === undefined ? [] : [`name:${name}`]),
    "*",
  ];
  const entries = normalKeys(rules);
  return keys.map((key) => own(entries, normalKey(key))).find((found) => found !== undefined);
}
