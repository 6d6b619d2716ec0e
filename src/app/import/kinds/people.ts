import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Paired } from "../../../types/answers/pairing.ts";
import { isFields } from "../../../utils/fields.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import type { ImportKind, Item, KindPlan, Left } from "../frame/kind.ts";
import { sectionOf, type ImportSource } from "../frame/source.ts";
import { readListed } from "../frame/source-file.ts";

/** Channels that this gateway has. */
const CHANNELS = ["telegram", "discord", "slack", "signal", "whatsapp"];
const FILE = /^(.+)-allowFrom\.json$/;

/** A list of people in the source. `key`: its account as a file's name has it; undefined for the default account. */
interface GivenList {
  readonly channel: string;
  readonly key: string | undefined;
  readonly entries: readonly string[];
}

/**
 * The people whom the other gateway has let in by a code, by channel and account. They may write here too, without a new code. People of the
 * config come with the config.
 */
export const peopleKind: ImportKind = {
  id: "people",
  title: "People who were let in",
  async plan(from): Promise<KindPlan> {
    const inFiles = await listsInFiles(from);
    const given = [...inFiles.lists, ...(await listsInDatabase(from))];
    const items: Item[] = [];
    const left: Left[] = [...inFiles.left, ...(await waiting(from))];
    for (const [name, lists] of Map.groupBy(given, ({ channel, key = "default" }) => `${channel}/${key}`)) {
      const [first] = lists;
      const account = first && accountNamed(first.key, first.channel, from);
      const entries = [...new Set(lists.flatMap((list) => list.entries))];
      if (!first || account === undefined)
        left.push({ name, why: "its account cannot be told: several have such a name" });
      else if (!CHANNELS.includes(first.channel)) left.push({ name, why: "this gateway has no such channel" });
      else items.push(itemFor({ ...first, entries }, account));
    }
    return { items, left };
  },
};

function itemFor({ channel, entries }: GivenList, account: string): Item {
  const { ids, notes } = idsIn(channel, entries);
  return {
    id: `${channel}/${account}`,
    name: `${ids.length} people of ${channel} (${account})`,
    version: createHash("sha256").update(JSON.stringify(ids)).digest("hex").slice(0, 16),
    notes,
    async take({ journal }) {
      await journal.pairing.admit(ids.map((senderId): Paired => ({ channel, account, senderId })));
      return { made: `${channel}/${account}` };
    },
  };
}

/** Ids that are one person's for ever. A name can be given up and taken by somebody else. */
function idsIn(channel: string, entries: readonly string[]): { ids: readonly string[]; notes: readonly string[] } {
  const ids: string[] = [];
  const notes: string[] = [];
  for (const entry of entries) {
    const bare = entry.trim().replace(new RegExp(`^(?:${channel}|tg|user|uuid):`, "i"), "");
    if (bare === "*") notes.push("* lets everybody in; set dmPolicy to open in the config if you want that");
    else if (isId(channel, bare)) ids.push(bare);
    else notes.push(`${entry}: is no id; put it into allowFrom of the config if you want it`);
  }
  return { ids, notes };
}

function isId(channel: string, text: string): boolean {
  if (channel === "telegram" || channel === "discord") return /^\d{3,}$/.test(text);
  if (channel === "slack") return /^[UW][A-Z0-9]{4,}$/i.test(text);
  return /^\+?\d{5,}$/.test(text) || /^[0-9a-f-]{36}$/i.test(text) || /^\d+(?::\d+)?@[\w.]+$/.test(text);
}

/** The account that a file's name has as `key`. Undefined where several accounts of the config are written so. */
export function accountNamed(key: string | undefined, channel: string, from: ImportSource): string | undefined {
  if (key === undefined) return "default";
  const known = new Set([...Object.keys(sectionOf(from.value, "channels", channel, "accounts")), "default"]);
  const fitting = [...known].filter((name) => fileKey(name) === key);
  return fitting.length > 1 ? undefined : (fitting[0] ?? key);
}

const fileKey = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[\\/:*?"<>|]/g, "_")
    .replaceAll("..", "_");

async function listsInFiles({ dir }: ImportSource): Promise<{ lists: readonly GivenList[]; left: readonly Left[] }> {
  const folder = join(dir, "credentials");
  const names = ((await unlessMissing(readdir(folder))) ?? []).filter((name) => FILE.test(name)).toSorted();
  const lists: GivenList[] = [];
  const left: Left[] = [];
  for (const name of names) {
    const { text, why } = await readListed(join(folder, name), dir);
    if (why !== undefined) left.push({ name, why });
    if (text === undefined) continue;
    const base = FILE.exec(name)?.[1] ?? "";
    const channel = CHANNELS.find((one) => base === one || base.startsWith(`${one}-`)) ?? base;
    const key = base === channel ? undefined : base.slice(channel.length + 1);
    lists.push({ channel, key, entries: entriesIn(text) });
  }
  return { lists, left };
}

/** A list, or an object that has one. */
function entriesIn(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    const list: unknown = isFields(value) ? value["allowFrom"] : value;
    const all: readonly unknown[] = Array.isArray(list) ? list : [];
    return all.flatMap((entry) => (typeof entry === "string" || typeof entry === "number" ? String(entry) : []));
  } catch {
    // OpenClaw takes a broken file for an empty one, too.
    return [];
  }
}

const TABLE = "channel_pairing_allow_entries";

async function listsInDatabase({ database, databases }: ImportSource): Promise<readonly GivenList[]> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (db?.has(TABLE, "channel_key", "account_id", "entry") !== true) return [];
  return [...db.rows(`SELECT channel_key, account_id, entry FROM ${TABLE} ORDER BY rowid`)].map((row) => ({
    channel: textOf(row["channel_key"]),
    key: fileKey(textOf(row["account_id"])) || undefined,
    entries: [textOf(row["entry"])],
  }));
}

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

async function waiting({ dir }: ImportSource): Promise<readonly Left[]> {
  const names = (await unlessMissing(readdir(join(dir, "credentials")))) ?? [];
  return names
    .filter((name) => name.endsWith("-pairing.json"))
    .map((name) => ({ name, why: "people who wait with a code get a new one with their next message" }));
}
