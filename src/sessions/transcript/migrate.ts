import { constants } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { writeAtomic } from "../../store/disk.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { errorCode } from "../../utils/missing.ts";
import { newEntryId } from "./archive.ts";
import { parseFields, TRANSCRIPT_VERSION } from "./entries.ts";

/**
 * Writes a transcript of version 1 or 2 anew as version 3; the old file stays as `<file>.v<version>.bak`.
 * Version 1 had no ids: its lines hang under each other in their order. Version 2 called the role `custom` `hookMessage`.
 */
export async function migrateTranscript(path: string, version: number): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").map(parseFields).filter(isFields);
  const linked = version < 2 ? linkLines(lines) : lines;
  const migrated = linked.map((fields) => JSON.stringify(toCurrent(fields)));
  await keepOld(path, `${path}.v${version}.bak`);
  await writeAtomic(path, `${migrated.join("\n")}\n`);
}

async function keepOld(path: string, backup: string): Promise<void> {
  try {
    await copyFile(path, backup, constants.COPYFILE_EXCL);
  } catch (error) {
    // From a migration that was cut short: it holds the same lines.
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

function linkLines(lines: readonly Fields[]): Fields[] {
  const ids = lines.map(() => newEntryId());
  return lines.map((fields, at) => {
    if (fields["type"] === "session") return fields;
    const previous = lines[at - 1]?.["type"] === "session" ? undefined : ids[at - 1];
    return { ...withKeptId(fields, ids), id: ids[at], parentId: previous ?? null };
  });
}

/** Version 1 named the first kept entry by its place in the file, the header being 0. */
function withKeptId(fields: Fields, ids: readonly string[]): Fields {
  const { firstKeptEntryIndex: index, ...rest } = fields;
  if (fields["type"] !== "compaction" || typeof index !== "number") return fields;
  return { ...rest, firstKeptEntryId: (index > 0 ? ids[index] : undefined) ?? rest["firstKeptEntryId"] ?? "" };
}

function toCurrent(fields: Fields): Fields {
  if (fields["type"] === "session") return { ...fields, version: TRANSCRIPT_VERSION };
  const message = fields["message"];
  if (fields["type"] !== "message" || !isFields(message) || message["role"] !== "hookMessage") return fields;
  return { ...fields, message: { ...message, role: "custom" } };
}
