import { constants, createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, copyFile, readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { unlessMissing, errorCode } from "../../utils/missing.ts";
import { setAside, stamp } from "./archive.ts";
import { BackReader, type RawLine } from "./back-reader.ts";
import { type Header, parseHeader, TRANSCRIPT_VERSION, UNNAMED_LINE, parseFields } from "./entries.ts";
import { OlderLines } from "./migrate.ts";
import { readLine } from "./read-line.ts";
import { writeAtomic } from "../../store/disk.ts";
import { isFields } from "../../utils/fields.ts";

const HEADER_BYTES = 4096;
const HEADER_MAX_BYTES = 1024 * 1024;
const NEWLINE = 10;

export interface PrepareContext {
  readonly log: Log;
  now(): number;
}

export interface Prepared {
  /** Id of the file's last entry; null when there is none, or no file. */
  readonly leafId: string | null;
  readonly bytesRead: number;
}

/**
 * Makes a transcript fit for appending: an older version is migrated, a torn end cut off into `<file>.torn.<time>`, a file
 * in which neither the header nor an entry can be read set aside as `<file>.broken.<time>`. Nothing is removed. Throws
 * TRANSCRIPT_NEWER.
 */
export async function prepareTranscript(path: string, context: PrepareContext): Promise<Prepared> {
  const file = await openOrMissing(path);
  if (!file) return { leafId: null, bytesRead: 0 };
  try {
    const { size } = await file.stat();
    if (size === 0) return { leafId: null, bytesRead: 0 };
    const header = parseHeader(await readFirstLine(file, size));
    if (!header && !(await hasEntry(file, size))) return await setBrokenAside(path, context);
    if (!header) tellHeaderless(path, context);
    if (header && header.version < TRANSCRIPT_VERSION && !(await hasLostVersion(header, file, size))) {
      await migrateTranscript(path, header.version);
      return await prepareTranscript(path, context);
    }
    if (header) refuseNewer(path, header);
    const repaired = await repairEnd(file, { path, size }, context);
    return { ...repaired, bytesRead: repaired.bytesRead + Math.min(size, HEADER_BYTES) };
  } finally {
    await file.close();
  }
}

/** The header of a file. Undefined when it has none that can be read. */
export async function readHeader(path: string): Promise<Header | undefined> {
  const file = await openOrMissing(path, "r");
  if (!file) return undefined;
  try {
    return parseHeader(await readFirstLine(file, (await file.stat()).size));
  } finally {
    await file.close();
  }
}

/** The header of an open file, and the byte after its line. */
export async function readHeaderLine(
  file: FileHandle,
  size: number,
): Promise<{ readonly header: Header | undefined; readonly bytes: number }> {
  const line = await readFirstLine(file, size);
  return { header: parseHeader(line), bytes: Buffer.byteLength(line) + 1 };
}

export const openOrMissing = (path: string, flags = "r+"): Promise<FileHandle | undefined> =>
  unlessMissing(open(path, flags));

async function readFirstLine(file: FileHandle, size: number): Promise<string> {
  for (let length = HEADER_BYTES; ; length *= 4) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    const end = endOfFirst(buffer.subarray(0, bytesRead));
    if (end >= 0) return buffer.toString("utf8", 0, end);
    if (bytesRead >= size || length >= HEADER_MAX_BYTES) return buffer.toString("utf8", 0, bytesRead);
  }
}

/** Where the first line ends, or the object that somebody has formatted over several lines. */
function endOfFirst(bytes: Buffer): number {
  const end = bytes.indexOf(NEWLINE);
  if (!/^\uFEFF?\{\s*$/.test(bytes.toString("utf8", 0, end))) return end;
  const closing = bytes.indexOf("\n}");
  return closing < 0 ? -1 : closing + 2;
}

async function hasEntry(file: FileHandle, size: number): Promise<boolean> {
  const reader = new BackReader(file, size);
  for (let raw = await reader.previous(); raw; raw = await reader.previous())
    if (readLine(raw).entries.some(({ link }) => link.entry !== undefined)) return true;
  return false;
}

/** Entries of version 1 have no ids, so a header that says so, or nothing, before entries with ids is wrong. */
async function hasLostVersion({ version }: Header, file: FileHandle, size: number): Promise<boolean> {
  if (version !== 1) return false;
  const reader = new BackReader(file, size);
  for (let raw = await reader.previous(); raw; raw = await reader.previous()) {
    const last = readLine(raw).entries.findLast(({ link }) => link.entry !== undefined);
    if (last) return !last.link.id.startsWith(UNNAMED_LINE);
  }
  return false;
}

const tellHeaderless = (path: string, { log }: PrepareContext): void =>
  log.warn("transcript has no readable header; its entries are used", { code: "TRANSCRIPT_DAMAGED", path });

async function setBrokenAside(path: string, { log, now }: PrepareContext): Promise<Prepared> {
  const aside = await setAside(path, "broken", now());
  log.error("transcript has no readable header; set aside, a new one begins", {
    code: "TRANSCRIPT_BROKEN",
    path,
    aside,
  });
  return { leafId: null, bytesRead: 0 };
}

function refuseNewer(path: string, header: Header): void {
  if (header.version <= TRANSCRIPT_VERSION) return;
  throw new OpenClawError("TRANSCRIPT_NEWER", {
    message: `${path} has transcript version ${header.version}; this openclaw knows ${TRANSCRIPT_VERSION}.`,
    fix: "Update openclaw, or begin a new conversation with /new.",
  });
}

async function repairEnd(
  file: FileHandle,
  at: { path: string; size: number },
  context: PrepareContext,
): Promise<Prepared> {
  const reader = new BackReader(file, at.size);
  let cutFrom = at.size;
  let leafId: string | null = null;
  for (;;) {
    const raw = await reader.previous();
    if (!raw) break;
    const last = lastIn(raw);
    if (last === "bad") {
      cutFrom = raw.offset;
      continue;
    }
    leafId = last ?? leafId;
    // Only the newline is missing, so nothing is lost.
    if (!raw.isWhole) await file.write("\n", at.size);
    if (last !== undefined || raw.offset === 0) break;
  }
  if (leafId !== null) leafId = await lastOfTwo(reader, leafId);
  if (cutFrom < at.size) await cutOff(file, { ...at, from: cutFrom }, context);
  return { leafId, bytesRead: reader.bytesRead };
}

/** The later one of a file's last two entries: `BranchWalk` begins with the same one. */
async function lastOfTwo(reader: BackReader, lastId: string): Promise<string> {
  const raw = await reader.previous();
  const link = raw && readLine(raw).entries.at(-1)?.link;
  return link?.parentId === lastId ? link.id : lastId;
}

/** The id of a line's last entry; `bad` when no part of the line can be read. */
function lastIn(raw: RawLine): string | undefined {
  const { entries, isTorn } = readLine(raw);
  const last = entries.at(-1)?.link;
  // Only the position of an incomplete line is kept.
  return isTorn && last?.entry === undefined ? "bad" : last?.id;
}

async function cutOff(
  file: FileHandle,
  at: { path: string; size: number; from: number },
  { log, now }: PrepareContext,
): Promise<void> {
  const aside = `${at.path}.torn.${stamp(now())}`;
  const torn = createReadStream(at.path, { start: at.from, end: at.size - 1 });
  await pipeline(torn, createWriteStream(aside, { mode: 0o600, flush: true }));
  await file.truncate(at.from);
  await file.sync();
  log.warn("transcript ended in a torn line; cut off and kept", { path: at.path, aside, bytes: at.size - at.from });
}

/** Writes a transcript of an older version anew as version 3; the old file stays as `<file>.v<version>.bak`. */
async function migrateTranscript(path: string, version: number): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").map(parseFields).filter(isFields);
  const older = new OlderLines(version);
  const migrated = lines.map((fields) => JSON.stringify(older.present(fields)));
  await keepOld(path, `${path}.v${version}.bak`);
  await writeAtomic(path, `${migrated.join("\n")}\n`);
}

async function keepOld(path: string, backup: string): Promise<void> {
  try {
    await copyFile(path, backup, constants.COPYFILE_EXCL);
  } catch (error) {
    // The file is from a migration that was cut short, and holds the same lines.
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
