import { dirname } from "node:path";
import { z } from "zod";
import { makePrivateDir, writeAtomic } from "../../store/disk.ts";
import type { InstallRecord, InstallRecords } from "../../types/plugin/install-record.ts";
import { defined } from "../../utils/defined.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { isPluginId } from "../manifest/parse-manifest.ts";
import { invalid } from "./refusals.ts";
import { readTextFile } from "../../store/text-file.ts";

const text = z.string().optional().catch(undefined);

const recordShape = z.looseObject({
  source: z.string(),
  spec: text,
  sourcePath: text,
  version: text,
  integrity: text,
  resolvedCommit: text,
  installedAt: text,
  files: text,
});

/** Records in `installs.json`, and in `plugins.installs` of older configs; an entry that is no record is left out. */
export function parseRecords(value: unknown): InstallRecords {
  if (!isFields(value)) return {};
  const records = Object.entries(value).flatMap(([id, given]) => {
    const parsed = recordShape.safeParse(given);
    return parsed.success && isPluginId(id) ? [[id, recordOf(parsed.data)] as const] : [];
  });
  return Object.fromEntries(records);
}

const recordOf = (given: z.output<typeof recordShape>): InstallRecord =>
  defined({
    source: given.source,
    spec: given.spec ?? given.sourcePath,
    version: given.version,
    integrity: given.integrity,
    resolvedCommit: given.resolvedCommit,
    installedAt: given.installedAt,
    files: given.files,
  });

/** The records of the file; none when it is missing. Throws `PLUGIN_INVALID` when it cannot be read. */
export async function readRecords(file: string): Promise<InstallRecords> {
  return parseRecords((await readIndex(file))["installRecords"]);
}

/** Writes one record, or removes it. Whatever else the file has stays. Throws `DISK_WRITE` and `DISK_FULL`. */
export async function putRecord(file: string, id: string, record: InstallRecord | undefined): Promise<void> {
  const index = await readIndex(file);
  const before = isFields(index["installRecords"]) ? index["installRecords"] : {};
  const { [id]: _old, ...others } = before;
  const installRecords = record === undefined ? others : { ...others, [id]: record };
  await makePrivateDir(dirname(file));
  await writeAtomic(file, `${JSON.stringify({ ...index, installRecords }, null, 2)}\n`);
}

async function readIndex(file: string): Promise<Fields> {
  const content = await readTextFile(file);
  if (content === undefined) return {};
  try {
    const value: unknown = JSON.parse(content);
    if (isFields(value)) return value;
    throw new Error("it holds no object");
  } catch (error) {
    const fix = "Correct the file, or move it away: the plugins stay, without the record of where they came from.";
    throw invalid(`${file} cannot be read: ${errorText(error)}`, fix, error);
  }
}
