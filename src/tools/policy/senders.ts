import type { SenderNames, ToolLists } from "../../types/tool-policy.ts";
import { once } from "../../utils/share-calls.ts";
import { digitsOf, plainId, plainName, readSenderKey, type SenderKey } from "./sender-keys.ts";

type ListsByName = Readonly<Record<string, ToolLists>>;

/** An entry about a sender, with its key. */
export interface SenderRule {
  readonly name: string;
  readonly lists: ToolLists;
}

interface ReadRule extends SenderRule {
  readonly of: SenderKey;
}

/** Reads entries. Entries of the settings never change, so their keys are read once. */
const readRules = once((rules: ListsByName): readonly ReadRule[] =>
  Object.entries(rules).map(([name, lists]) => ({ name, lists, of: readSenderKey(name) })),
);

/** A sender in the notation of the keys. */
interface PlainSender {
  readonly channel: string;
  readonly ids: readonly string[];
  readonly phone: string | undefined;
  readonly username: string | undefined;
  readonly name: string | undefined;
}

function plainSender({ channel, id, e164, username, name }: SenderNames): PlainSender {
  const on = channel.trim().toLowerCase();
  const whole = plainId(id);
  const own = plainId(whole.startsWith(`${on}:`) ? whole.slice(on.length + 1) : whole);
  const number = e164 ?? (own.startsWith("+") ? own : undefined);
  return {
    channel: on,
    // A phone number that is an id also counts without its plus sign.
    ids: [...new Set([whole, own, ...(own.startsWith("+") ? [own.slice(1)] : [])])],
    phone: number === undefined ? undefined : digitsOf(number),
    username: username === undefined ? undefined : plainName(username),
    name: name === undefined ? undefined : plainName(name),
  };
}

/** Tests of a key, from the most certain to the least certain way to name a sender. */
const LEVELS: readonly ((key: SenderKey, sender: PlainSender) => boolean)[] = [
  (key, { channel, ids }) => key.kind === "id" && key.channel === channel && ids.includes(key.text),
  (key, { channel, ids }) =>
    key.kind === "id" &&
    // An id may hold a colon: `uuid:7` was read as an id on the channel `uuid`.
    (key.channel === undefined ? ids.includes(key.text) : key.channel !== channel && ids.includes(wholeId(key))),
  (key, { channel, phone }) => phone !== undefined && isOn(key, channel) && phoneOf(key) === phone,
  (key, { channel, username }) => key.kind === "username" && isOn(key, channel) && key.text === username,
  (key, { channel, name }) => key.kind === "name" && isOn(key, channel) && key.text === name,
  (key, { channel }) => key.kind === "all" && isOn(key, channel),
];

type Named = Exclude<SenderKey, { readonly kind: "all" }>;

const wholeId = ({ channel = "", text }: Named): string => `${channel}:${text}`;

const isOn = (key: SenderKey, channel: string): boolean => key.channel === undefined || key.channel === channel;

/** The phone number of a key: `e164:43123`, or an id that begins with `+`. */
function phoneOf(key: SenderKey): string | undefined {
  if (key.kind === "e164") return key.text;
  return key.kind === "id" && key.text.startsWith("+") ? key.text.slice(1) : undefined;
}

/**
 * The entries about a sender: by channel and id, by id, by phone number, by username or by display name, the first of
 * these ways with an entry, else `*`. Several entries that name the sender in the same way all hold, so the strictest
 * of them wins. Pure.
 */
export function senderRules(rules: ListsByName, sender: SenderNames): readonly SenderRule[] {
  const all = readRules(rules);
  const plain = plainSender(sender);
  for (const isMeant of LEVELS) {
    const found = all.filter(({ of }) => isMeant(of, plain));
    if (found.length > 0) return found;
  }
  return [];
}

/** Keys by names of a sender that are not known, so that these keys may or may not be about the sender. Pure. */
export const undecidedRules = (rules: ListsByName, sender: SenderNames): readonly string[] =>
  readRules(rules)
    .filter(({ of }) => of.kind !== "all" && of.kind !== "id" && sender[of.kind] === undefined)
    .map(({ name }) => name);
