import { existsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isFields } from "../../../utils/fields.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { accountFolder } from "../../accounts/accounts.ts";
import { givenJson, readListed, sourceFile } from "../frame/source-file.ts";
import type { ImportKind, Item, KindPlan, Left } from "../frame/kind.ts";
import type { ImportSource } from "../frame/source.ts";
import { takeFolder, type GivenFile, markOf } from "./folders.ts";
import { accountNamed } from "./people.ts";

/** Telegram keeps updates for a day, and numbers them anew after a week without any. */
const KEPT_MS = 24 * 3_600_000;

const position = z.looseObject({
  lastUpdateId: z.number().int().nonnegative(),
  botId: z.string().regex(/^\d+$/),
});
type Position = z.infer<typeof position>;
interface GivenPosition {
  /** The account as the other gateway writes it. */
  readonly key: string;
  readonly value: unknown;
  readonly atMs: number;
}

/**
 * How far the other gateway has read the updates of a bot: what it has answered is not answered again. Telegram itself knows it only
 * up to the poll before the last.
 */
export const positionsKind: ImportKind = {
  id: "telegram",
  title: "Positions in the updates of Telegram",
  async plan(from): Promise<KindPlan> {
    const { list, left } = await positionsOf(from);
    const items: Item[] = [];
    const others: Left[] = [];
    for (const { key, value, atMs } of list) {
      const name = `position of ${key}`;
      const account = accountNamed(key, "telegram", from);
      const read = position.safeParse(value).data;
      if (account === undefined) others.push({ name, why: "its account cannot be told: several have such a name" });
      else if (!read) others.push({ name, why: "it does not name its bot" });
      else if (Date.now() - atMs > KEPT_MS)
        others.push({ name, why: "it is older than a day, and Telegram keeps updates no longer" });
      else items.push(positionItem(account, read, atMs));
    }
    return { items, left: [...left, ...others] };
  },
};

function positionItem(account: string, { lastUpdateId, botId }: Position, atMs: number): Item {
  return {
    id: account,
    name: `bot ${botId} (${account})`,
    version: `${botId}:${lastUpdateId}`,
    async take({ journal }) {
      const note = JSON.stringify({ botId, lastUpdateId, atMs });
      await journal.values.set(`channel:telegram:${account}:position`, note);
      return { made: account };
    },
  };
}

const OFFSET = /^update-offset-(.+)\.json$/;

async function positionsOf(from: ImportSource): Promise<{ list: readonly GivenPosition[]; left: readonly Left[] }> {
  const folder = join(from.dir, "telegram");
  const names = ((await unlessMissing(readdir(folder))) ?? []).filter((name) => OFFSET.test(name));
  const list: GivenPosition[] = [];
  const left: Left[] = [];
  for (const name of names) {
    const { text, why } = await readListed(join(folder, name), from.dir);
    if (why !== undefined) left.push({ name: `telegram/${name}`, why });
    const file = text === undefined ? undefined : await sourceFile(join(folder, name), from.dir);
    if (file) list.push({ key: OFFSET.exec(name)?.[1] ?? "", value: givenJson(text), atMs: file.mtimeMs });
  }
  return { list: [...list, ...(await positionsInDatabase(from))], left };
}

async function positionsInDatabase({ database, databases }: ImportSource): Promise<readonly GivenPosition[]> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (db?.has("plugin_state_entries", "namespace", "entry_key", "value_json", "created_at") !== true) return [];
  const rows = db.rows("SELECT * FROM plugin_state_entries WHERE namespace = 'telegram.update-offsets'");
  return [...rows].map((row) => ({
    key: String(row["entry_key"]),
    value: givenJson(row["value_json"]),
    atMs: Number(row["created_at"]),
  }));
}

const CREDS = "creds.json";
const WHATSAPP_FILE =
  /^(?:creds|pre-key|session|sender-key|app-state-sync|lid-mapping|device-list|tctoken|identity-key)/;

/** Links with WhatsApp. The channel reads the files at its first start, and puts them aside: a link lives in one place. */
export const whatsappKind: ImportKind = {
  id: "whatsapp",
  title: "Links with WhatsApp",
  async plan(from): Promise<KindPlan> {
    const items: Item[] = [];
    const left: Left[] = [];
    for (const { folder, key } of await linksIn(from)) {
      const { text, why } = await readListed(join(folder, CREDS), from.dir);
      const account = accountNamed(key, "whatsapp", from);
      if (text === undefined && why === undefined) continue;
      const name = `whatsapp ${key}`;
      const value = givenJson(text);
      if (account === undefined) left.push({ name, why: "its account cannot be told: several have such a name" });
      else if (!isFields(value)) left.push({ name, why: why ?? `its ${CREDS} cannot be read` });
      else items.push(linkItem(account, folder, await keysIn(folder)));
    }
    return { items, left };
  },
};

function linkItem(account: string, folder: string, files: readonly GivenFile[]): Item {
  return {
    id: account,
    name: `whatsapp ${account}`,
    version: markOf(files),
    notes: [
      "its keys move on with each message: start the channel only when the other gateway will not run with this link again",
    ],
    async take({ paths }, before) {
      const to = await accountFolder(paths.credentials, "whatsapp", account);
      if (existsSync(join(to, "auth.sqlite"))) return { left: "this gateway has a link of this account already" };
      return takeFolder(`whatsapp ${account}`, { files, from: folder, to, before });
    },
  };
}

/** Folders of accounts. The first versions had one account, whose files were among the other credentials. */
async function linksIn({ dir }: ImportSource): Promise<readonly { folder: string; key: string }[]> {
  const credentials = join(dir, "credentials");
  const all = (await unlessMissing(readdir(join(credentials, "whatsapp"), { withFileTypes: true }))) ?? [];
  const accounts = all.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const links = accounts.map((key) => ({ folder: join(credentials, "whatsapp", key), key }));
  return accounts.includes("default") ? links : [...links, { folder: credentials, key: "default" }];
}

/** The files of a link. A link to a file elsewhere is none. */
async function keysIn(folder: string): Promise<readonly GivenFile[]> {
  const names = (await readdir(folder)).filter((name) => WHATSAPP_FILE.test(name) && name.endsWith(".json"));
  const files = await Promise.all(
    names.map(async (name): Promise<readonly GivenFile[]> => {
      const facts = await unlessMissing(lstat(join(folder, name)));
      return facts?.isFile() === true ? [{ name, size: facts.size, mtimeMs: facts.mtimeMs, isLink: false }] : [];
    }),
  );
  return files.flat();
}
