import type { DatabaseSync } from "node:sqlite";
import { OpenClawError } from "../../types/errors.ts";
import { count } from "./columns.ts";
import { type Migration, MIGRATIONS, OPENS_FROM, SCHEMA_VERSION } from "./schema.ts";

/** The schema version of a journal. Throws SQLite's errors. */
export function readVersion(db: DatabaseSync): number {
  return count(db.prepare("PRAGMA user_version").get(), "user_version");
}

/** Row of `kept` with the oldest version whose program works with the journal. */
const OPENS_FROM_KEY = "schema:opens-from";

/** Writes it. Called in the transaction that makes the tables. */
export const NOTE_OPENS_FROM = `INSERT OR REPLACE INTO kept (key, value) VALUES ('${OPENS_FROM_KEY}', '${OPENS_FROM}')`;

/** The oldest version whose program works with a journal; its own where nothing says so. Throws SQLite's errors. */
function readOpensFrom(db: DatabaseSync, version: number): number {
  if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kept'").get()) return version;
  const row = db.prepare("SELECT value FROM kept WHERE key = ?").get(OPENS_FROM_KEY);
  return row ? count(row, "value") : version;
}

/**
 * What this program can do with a journal on disk: `bring` it to the present version and work with it, `work` with it as it is, or only
 * `read` it, because a newer version has changed more than it has added. Throws SQLite's errors.
 */
export function useOf(db: DatabaseSync): "bring" | "work" | "read" | "none" {
  const version = readVersion(db);
  if (version === SCHEMA_VERSION) return "work";
  if (version < SCHEMA_VERSION) return migrationsFrom(version) ? "bring" : "none";
  return readOpensFrom(db, version) <= SCHEMA_VERSION ? "work" : "read";
}

/** Whether a journal on disk has tables that can be read. Throws SQLite's errors. */
export const hasTables = (db: DatabaseSync): boolean => readVersion(db) > 0 && useOf(db) !== "none";

/** The reason why the gateway does not work with a journal; undefined when it does. Throws SQLite's errors. */
export function versionRefusal(db: DatabaseSync, path: string): OpenClawError | undefined {
  const use = useOf(db);
  if (use === "work" || use === "bring") return undefined;
  const version = readVersion(db);
  if (use === "read")
    return new OpenClawError("JOURNAL_NEWER", {
      message:
        `The journal ${path} has schema ${version}; this openclaw knows ${SCHEMA_VERSION}, ` +
        "and the newer version has changed what this one would write.",
      fix:
        "Run the newer version again: openclaw update. Until then this one reads the journal for openclaw doctor, export and backup " +
        "create. To go on with this version, restore a backup of its time, or point OPENCLAW_STATE_DIR at another directory.",
    });
  return new OpenClawError("JOURNAL_OLDER", {
    message: `The journal ${path} has schema ${version}, of a development version that this openclaw cannot read.`,
    fix:
      "Start a development version that still reads it once (docs/reference/errors.md says which), or point " +
      "OPENCLAW_STATE_DIR at a new directory.",
  });
}

/** The steps that bring the journal to the present version; none where a newer version has only added to it. Throws `versionRefusal` or SQLite's errors. */
export function migrationsOf(db: DatabaseSync, path: string): readonly Migration[] {
  const refused = versionRefusal(db, path);
  if (refused) throw refused;
  return migrationsFrom(readVersion(db)) ?? [];
}

/** The steps from a version to `SCHEMA_VERSION`, in their order. Undefined when they do not lead there. Pure. */
function migrationsFrom(version: number): readonly Migration[] | undefined {
  if (version === SCHEMA_VERSION) return [];
  const step = MIGRATIONS.find(({ from }) => from === version);
  const rest = step && migrationsFrom(step.to);
  return step && rest && [step, ...rest];
}
