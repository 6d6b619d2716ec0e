import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "tar";
import { SCHEMA_VERSION } from "../../../src/store/database/schema.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** A release after this one, and how its journal differs. */
export interface NextRelease {
  readonly version: string;
  /** Its step of the schema; without one it has the present schema. */
  readonly step?: { readonly isAdditive: boolean; readonly sql: string };
  /** Text that is put at the beginning of its program. */
  readonly prelude?: string;
}

/** What a next version may add: columns that may be left out, a table, an index. */
export const ADDS = `
  ALTER TABLE inbox ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
  ALTER TABLE sessions ADD COLUMN colour TEXT;
  ALTER TABLE outbox ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
  CREATE TABLE moods (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE INDEX inbox_mood ON inbox (mood);
`;

/**
 * Makes the built package as its next release would be, in `dir`: the same program with another version and one step of the
 * schema more. Its own packages are not in it.
 */
export async function makeNextRelease(dir: string, { version, step, prelude = "" }: NextRelease): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const name of ["bin", "dist", "skills", "hooks", "openclaw.json.example"])
    await cp(join(ROOT, name), join(dir, name), { recursive: true, filter: (path) => !path.endsWith(".map") });
  // Documents name no version.
  await symlink(join(ROOT, "docs"), join(dir, "docs")).catch(() => undefined);
  const manifest: Record<string, unknown> = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const { name, type, bin, engines, exports } = manifest;
  await writeFile(join(dir, "package.json"), JSON.stringify({ name, version, type, bin, engines, exports }, null, 2));
  if (step) await addStep(join(dir, "dist"), step);
  const main = join(dir, "dist", "main.js");
  await writeFile(main, prelude + (await readFile(main, "utf8")));
}

/** The end of the list of steps in the built program. */
const LAST_STEP = "}],PATHS_VERSION=";

async function addStep(dist: string, { isAdditive, sql }: NonNullable<NextRelease["step"]>): Promise<void> {
  const step = `,{from:${SCHEMA_VERSION},to:${SCHEMA_VERSION + 1},isAdditive:${isAdditive},sql:${JSON.stringify(sql)}}`;
  let found = 0;
  for (const name of await readdir(dist, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const path = join(dist, name);
    const text = await readFile(path, "utf8");
    if (!text.includes(LAST_STEP)) continue;
    found += 1;
    await writeFile(
      path,
      text.replace(LAST_STEP, () => `}${step}],PATHS_VERSION=`),
    );
  }
  if (found === 0) throw new Error("the built program has no list of steps in the form that this file knows");
}

/** Packs a folder as `npm pack` does, in a moment. */
export async function packRelease(dir: string, file: string): Promise<void> {
  await create({ file, cwd: dir, gzip: { level: 1 }, prefix: "package" }, await readdir(dir));
}
