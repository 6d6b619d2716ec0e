import type { OpenClawError } from "../types/errors.ts";
import type { Log } from "../types/log.ts";
import { Commits } from "./journal/commits.ts";
import { openDatabase, readVersion } from "./journal/database.ts";
import { openWal } from "./wal.ts";

interface FileOptions {
  readonly path: string;
  readonly sync?: "full" | "normal";
  readonly log?: Log;
}

/** The open file of a journal. */
export interface OpenFile {
  readonly commits: Commits;
  /** See `OpenJournal`; never resolves where SQLite itself syncs. */
  readonly lost: Promise<OpenClawError>;
  /** After the commits have settled. */
  closeFile(): Promise<void>;
}

/** Opens the database; with `sync`, for the one process that owns it. Throws as `openJournal` does. */
export async function openCommits({ path, sync, log }: FileOptions): Promise<OpenFile> {
  const db = openDatabase(path);
  log?.debug("journal open", { path, version: readVersion(db) });
  if (sync === undefined) {
    const closeFile = async () => {
      if (db.isOpen) db.close();
    };
    return { commits: new Commits(db, path), lost: new Promise(() => undefined), closeFile };
  }
  const wal = await openWal(db, path);
  const onLongLog = (error: unknown) =>
    log?.warn("the journal's log was not copied into the database", { path, error });
  const commits = new Commits(db, path, { wal, isDurable: sync === "full", onLongLog });
  return { commits, lost: wal.lost, closeFile: () => wal.close() };
}
