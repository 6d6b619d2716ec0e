import type { DatabaseSync } from "node:sqlite";
import { OpenClawError } from "../../types/errors.ts";
import { count } from "./columns.ts";
import { type Migration, MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";

/** The schema version of a journal. Throws SQLite's errors. */
export function readVersion(db: DatabaseSync): number {
  return count(db.prepare("PRAGMA user_version").get(), "user_version");
}

/** Whether a journal on disk has the tables of a version that can be opened. Throws SQLite's errors. */
export function hasTables(db: DatabaseSync): boolean {
  const version = readVersion(db);
  return version > 0 && migrationsFrom(version) !== undefined;
}

/** The reason why a journal of this version cannot be opened; undefined when it can. Pure. */
export function versionRefusal(version: number, path: string): OpenClawError | undefined {
  if (version > SCHEMA_VERSION)
    return new OpenClawError("JOURNAL_NEWER", {
      message: `The journal ${path} has schema ${version}; this openclaw knows ${SCHEMA_VERSION}.`,
      fix: "Update openclaw, or point OPENCLAW_STATE_DIR at a directory that this version wrote.",
    });
  if (migrationsFrom(version)) return undefined;
  return new OpenClawError("JOURNAL_OLDER", {
    message: `The journal ${path} has schema ${version}, of a development version that this openclaw cannot read.`,
    fix:
      "Start a development version that still reads it once (docs/reference/errors.md says which), or point " +
      "OPENCLAW_STATE_DIR at a new directory.",
  });
}

/** The steps that bring the journal to the present version. Throws `versionRefusal` or SQLite's errors. */
export function migrationsOf(db: DatabaseSync, path: string): readonly Migration[] {
  const version = readVersion(db);
  const refused = versionRefusal(version, path);
  if (refused) throw refused;
  return migrationsFrom(version) ?? [];
}

/** The steps from a version to `SCHEMA_VERSION`, in their order. Undefined when they do not lead there. Pure. */
function migrationsFrom(version: number): readonly Migration[] | undefined {
  if (version === SCHEMA_VERSION) return [];
  const step = MIGRATIONS.find(({ from }) => from === version);
  const rest = step && migrationsFrom(step.to);
  return step && rest && [step, ...rest];
}
