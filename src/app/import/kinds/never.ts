import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../../utils/missing.ts";
import type { ImportKind, KindPlan, Left } from "../frame/kind.ts";
import type { ImportSource } from "../frame/source.ts";

/** Files, folders and tables that no import takes, as far as they are there and have something in them. */
const FILES: readonly (readonly [name: string, why: string])[] = [
  [
    "delivery-queue",
    "messages that were not sent: sent from here, they could arrive twice; send again what is still needed",
  ],
  ["session-delivery-queue", "answers that were not delivered: they are in the conversations"],
  ["nodes/paired.json", "no other machine runs anything for this gateway"],
  ["identity", "it is the other gateway's own key"],
  ["memory", "the index of notes is made anew from their files"],
  ["subagents", "subagents that were running ended with their gateway; their conversations are taken with the others"],
  ["plugins", "plugins are installed for one program; install them here with: openclaw plugins install"],
  ["extensions", "plugins are installed for one program; install them here with: openclaw plugins install"],
  ["sandbox", "containers and their folders are made anew"],
  ["sandboxes", "containers and their folders are made anew"],
  ["browser", "profiles of browsers belong to the program that made them"],
  ["logs", "they are about the other gateway"],
  [".env", "it has secrets that a person put there; copy what you need into the environment of this gateway"],
  ["push", "registrations for push messages are the other gateway's"],
  ["restart-sentinel.json", "it is about a restart of the other gateway"],
];

/** Tables, each with the condition for a row that is not done with. */
const TABLES: readonly (readonly [table: string, why: string, open?: string])[] = [
  [
    "delivery_queue_entries",
    "messages that were not sent: sent from here, they could arrive twice; send again what is still needed",
    "failed_at IS NULL",
  ],
  [
    "channel_ingress_events",
    "messages that the other gateway has received: it answers them, or nobody does",
    "completed_at IS NULL AND failed_at IS NULL",
  ],
  [
    "secret_store_entries",
    "stored secrets stay where a person put them; name them in the environment or in secrets.providers",
  ],
  ["operator_approvals", "questions that were open ended with their gateway", "resolved_at_ms IS NULL"],
];

/** What stays behind in any case, with the reason and what to do instead. */
export const neverKind: ImportKind = {
  id: "never",
  title: "Never taken",
  plan: async (from): Promise<KindPlan> => ({ items: [], left: [...(await filesOf(from)), ...(await tablesOf(from))] }),
};

async function filesOf({ dir }: ImportSource): Promise<readonly Left[]> {
  const all = await Promise.all(
    FILES.map(async ([name, why]) => ((await hasContent(join(dir, name))) ? [{ name, why }] : [])),
  );
  return all.flat();
}

async function hasContent(path: string): Promise<boolean> {
  const facts = await unlessMissing(stat(path));
  if (facts?.isDirectory() !== true) return facts !== undefined && facts.size > 0;
  return (await readdir(path)).length > 0;
}

async function tablesOf({ database, databases }: ImportSource): Promise<readonly Left[]> {
  const db = database === undefined ? undefined : await databases.open(database);
  if (!db) return [];
  return TABLES.flatMap(([table, why, open]) => {
    const columns = open?.match(/\w+(?= IS)/g) ?? [];
    const where = open !== undefined && db.has(table, ...columns) ? ` WHERE ${open}` : "";
    const rows = db.has(table) ? [...db.rows(`SELECT count(*) AS count FROM ${table}${where}`)] : [];
    const count = Number(rows[0]?.["count"] ?? 0);
    return count > 0 ? [{ name: `${count} of ${table}`, why }] : [];
  });
}
