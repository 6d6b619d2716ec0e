import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { extract } from "tar";

/**
 * The state directory of a gateway whose schema has version 18, as a SIGKILL left it. It was made by commit 558667ee
 * (docs/decisions/0065-one-schema.md): chats of Telegram and the page, files, notes with their index, jobs, a subagent,
 * people who were let in and people who wait, a plugin and a hook. Its logs and links are left out.
 */
const FILE = join(import.meta.dirname, "earlier-state.tgz");

/** What the gateway was doing as it was killed. */
export const EARLIER = {
  /** Epoch milliseconds. */
  killedAt: 1_795_975_008_628,
  /** Where its directory was. */
  stateDir: "/tmp/oc-h9ySRl/openclaw-walk-YsKxlN/state",
} as const;

/** Unpacks the directory as `stateDir`, which has only its files afterwards. */
export async function unpackEarlierState(stateDir: string): Promise<void> {
  await rm(stateDir, { recursive: true, force: true });
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await extract({ file: FILE, cwd: stateDir });
}

/** Leaves an empty journal of version 18 at `path`, a file `journal.sqlite`, and resolves with it. */
export async function emptyEarlierJournal(path: string): Promise<DatabaseSync> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const files = new Set(["", "-wal"].map((end) => `./state/${basename(path)}${end}`));
  await extract({ file: FILE, cwd: dirname(path), strip: 2, filter: (name) => files.has(name) });
  const db = new DatabaseSync(path);
  for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all())
    db.exec(`DELETE FROM "${String(name)}"`);
  return db;
}
