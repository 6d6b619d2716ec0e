import { DatabaseSync } from "node:sqlite";
import { Commits } from "../../../src/store/database/commits.ts";
import { openDatabase } from "../../../src/store/journal/database.ts";
import { createFile } from "../../../src/store/files.ts";
import { openWalFiles, type WalFiles } from "../../../src/store/wal-files.ts";
import { Wal } from "../../../src/store/database/wal.ts";

/** The files of a journal on a disk of which a test decides when and how a sync ends. */
export class Disk implements WalFiles {
  readonly syncs: PromiseWithResolvers<void>[] = [];
  /** Called for each sync; by default it waits until the test ends it. */
  during: (file: "log" | "database", sync: PromiseWithResolvers<void>) => void = () => undefined;
  readonly #files: WalFiles;

  constructor(files: WalFiles) {
    this.#files = files;
  }

  logBytes = (): number => this.#files.logBytes();
  logPages = (): number => this.#files.logPages();
  syncLog = (): Promise<void> => this.#begin("log");
  syncDatabase = (): Promise<void> => this.#begin("database");
  close = (): Promise<void> => this.#files.close();

  #begin(file: "log" | "database"): Promise<void> {
    const sync = Promise.withResolvers<void>();
    this.syncs.push(sync);
    this.during(file, sync);
    return sync.promise;
  }
}

/** The writes of a journal as its owner makes them, on such a disk. */
export async function openOnDisk(path: string) {
  await createFile(path);
  const db = openDatabase(path);
  const disk = new Disk(await openWalFiles(path));
  const wal = new Wal(db, new DatabaseSync(path, { readOnly: true }), disk, path);
  const commits = new Commits(db, path, { wal, isDurable: true });
  const set = (key: string) =>
    commits.write((sql) => void sql.run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, 'v')", key));
  const keys = () =>
    commits.read((sql) =>
      sql.all("SELECT key FROM kept WHERE key NOT LIKE 'schema:%' ORDER BY key").map((row) => row["key"]),
    );
  const close = async () => {
    disk.during = (_file, sync) => sync.resolve();
    for (const sync of disk.syncs) sync.resolve();
    await commits.settle();
    await wal.close();
  };
  return { disk, wal, commits, set, keys, close };
}
