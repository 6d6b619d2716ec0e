import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJournal, type OpenJournal } from "../../../src/store/journal/journal.ts";
import type { SessionTable } from "../../../src/types/session.ts";

const journals = new Map<string, Promise<OpenJournal>>();

/** Path of the journal that keeps the session rows of a directory of transcripts. */
export const journalBeside = (dir: string): string => {
  const known = places.get(dir) ?? join(mkdtempSync(join(tmpdir(), "rows-")), "journal.sqlite");
  places.set(dir, known);
  return known;
};
const places = new Map<string, string>();

/** The session rows of a directory, in a real journal: the same at every call, as after a restart. */
export async function tableOf(dir: string): Promise<SessionTable> {
  const path = journalBeside(dir);
  const open = journals.get(dir) ?? openJournal({ path, bootId: "rows", sync: "normal" });
  journals.set(dir, open);
  return (await open).sessions;
}

/** The rows of a directory are lost; its files stay. */
export async function forgetTable(dir: string): Promise<void> {
  await (await journals.get(dir))?.close();
  journals.delete(dir);
  places.delete(dir);
}

process.once("exit", () => {
  for (const path of places.values()) rmSync(join(path, ".."), { recursive: true, force: true });
});
