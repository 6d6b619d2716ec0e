import { createWriteStream } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { Count, refusePath, type PluginSizeLimits } from "./paths.ts";
import { invalid, unsafe } from "./refusals.ts";

/** Whether a file begins as a ZIP archive. */
export async function isZip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    return (await bytesAt(handle, 0, 4)).equals(Buffer.from("PK\u0003\u0004"));
  } finally {
    await handle.close();
  }
}

/**
 * Unpacks a ZIP archive into an existing folder. The whole index is checked before anything is written. Throws `PLUGIN_UNSAFE`
 * for names that lead out of the folder, links, encrypted and overlapping entries, and above a limit, and `PLUGIN_INVALID`.
 */
export async function unpackZip(file: string, into: string, limits: PluginSizeLimits): Promise<void> {
  const handle = await open(file);
  try {
    const index = await readIndex(handle, limits);
    const entries = entriesIn(index.bytes, index.count, limits);
    const placed = await placeAll(handle, entries, index.at);
    for (const entry of placed) await write(handle, entry, into);
  } finally {
    await handle.close();
  }
}

/** An entry as the index of the archive describes it. */
interface Entry {
  /** Relative, without a slash at its end. */
  readonly path: string;
  readonly name: Buffer;
  readonly isFolder: boolean;
  readonly isProgram: boolean;
  /** 0: stored, 8: deflated. */
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly bytes: number;
  /** Offset of its own header. */
  readonly header: number;
}

interface Placed extends Entry {
  /** Offset of its first packed byte. */
  readonly at: number;
}

const END = 0x06_05_4b_50;
const END_BYTES = 22;
const MOST_COMMENT = 65_535;
const INDEX_ROW = 0x02_01_4b_50;
const ROW_BYTES = 46;
const HEADER = 0x04_03_4b_50;
const HEADER_BYTES = 30;
/** Bytes of the index for one entry, more than names in use have. */
const MOST_ROW = 1024;

const broken = (why: string) =>
  invalid(`The archive cannot be unpacked: ${why}.`, "Check that it is a whole .zip file.");

async function readIndex(handle: FileHandle, limits: PluginSizeLimits) {
  const { size } = await handle.stat();
  const tail = await bytesAt(handle, Math.max(0, size - END_BYTES - MOST_COMMENT), END_BYTES + MOST_COMMENT);
  let at = tail.length - END_BYTES;
  // A comment after the end may hold any bytes, so that only an end whose comment reaches the end of the file counts.
  while (at >= 0 && !(tail.readUInt32LE(at) === END && at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length))
    at -= 1;
  if (at < 0) throw broken("it has no end");
  const [disk, count] = [tail.readUInt32LE(at + 4), tail.readUInt16LE(at + 10)];
  const [bytes, start] = [tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  if (disk !== 0) throw broken("it is in several parts");
  if (count === 0xff_ff || start === 0xff_ff_ff_ff)
    throw broken("it is in the form ZIP64, which is for larger archives");
  if (count > limits.entries || bytes > count * MOST_ROW)
    throw unsafe(`The archive has more than ${limits.entries} files, or very long names.`);
  if (start + bytes > size) throw broken("its index is not in it");
  return { bytes: await bytesAt(handle, start, bytes), count, at: start };
}

/** Folders that macOS adds to archives. */
const LEFT_OUT = /^__MACOSX(?:\/|$)/;

function entriesIn(index: Buffer, expected: number, limits: PluginSizeLimits): readonly Entry[] {
  const count = new Count(limits);
  const entries: Entry[] = [];
  const seen = new Set<string>();
  let at = 0;
  for (let row = 0; row < expected; row += 1) {
    if (at + ROW_BYTES > index.length || index.readUInt32LE(at) !== INDEX_ROW) throw broken("its index is damaged");
    const next =
      at + ROW_BYTES + index.readUInt16LE(at + 28) + index.readUInt16LE(at + 30) + index.readUInt16LE(at + 32);
    if (next > index.length) throw broken("its index is damaged");
    const entry = entryAt(index.subarray(at, next));
    at = next;
    count.add(entry.bytes);
    // Some file systems take two names that differ in case for one.
    const name = entry.path.toLowerCase();
    if (seen.has(name)) throw unsafe(`The archive has ${entry.path} twice.`);
    seen.add(name);
    if (!LEFT_OUT.test(entry.path)) entries.push(entry);
  }
  return entries;
}

const KIND = 0o17_0000;
const FILE = 0o10_0000;
const FOLDER = 0o4_0000;

function entryAt(row: Buffer): Entry {
  const name = row.subarray(ROW_BYTES, ROW_BYTES + row.readUInt16LE(28));
  const given = textOf(name);
  if (given.includes("\\")) throw unsafe(`The archive has a name with a backslash: ${JSON.stringify(given)}.`);
  const path = refusePath(given);
  if (path === "" || path === ".") throw broken("an entry has no name");
  const [flags, method] = [row.readUInt16LE(8), row.readUInt16LE(10)];
  if ((flags & 1) !== 0) throw unsafe(`${path} in the archive is encrypted.`);
  if (method !== 0 && method !== 8) throw broken(`${path} is packed in a way that is not in use for .zip files`);
  const mode = modeOf(row);
  const isFolder = given.endsWith("/") || (mode & KIND) === FOLDER;
  if (![0, FILE, FOLDER].includes(mode & KIND))
    throw unsafe(`${path} in the archive is neither a file nor a folder, such as a link.`);
  return {
    path,
    name,
    isFolder,
    isProgram: (mode & 0o100) !== 0,
    method,
    crc: row.readUInt32LE(16),
    packed: row.readUInt32LE(20),
    bytes: row.readUInt32LE(24),
    header: row.readUInt32LE(42),
  };
}

/** The mode of a file where the archive was made on a system that has one: Unix is 3, macOS 19. */
const modeOf = (row: Buffer): number => ([3, 19].includes(row.readUInt8(5)) ? row.readUInt16LE(40) : 0);

function textOf(name: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(name);
  } catch {
    throw broken("a name in it is not in UTF-8");
  }
}

/** Reads the header of each entry, and refuses entries that share bytes, with which a small archive becomes endless. */
async function placeAll(handle: FileHandle, entries: readonly Entry[], end: number): Promise<readonly Placed[]> {
  const placed: Placed[] = [];
  let free = 0;
  for (const entry of entries.toSorted((a, b) => a.header - b.header)) {
    const header = await bytesAt(handle, entry.header, HEADER_BYTES);
    if (header.length < HEADER_BYTES || header.readUInt32LE(0) !== HEADER) throw broken(`${entry.path} has no header`);
    const length = header.readUInt16LE(26);
    const at = entry.header + HEADER_BYTES + length + header.readUInt16LE(28);
    if (!(await bytesAt(handle, entry.header + HEADER_BYTES, length)).equals(entry.name))
      throw unsafe(`${entry.path} has another name in its header than in the index of the archive.`);
    if (entry.header < free || at + entry.packed > end)
      throw unsafe(`${entry.path} shares bytes with another part of the archive.`);
    free = at + entry.packed;
    placed.push({ ...entry, at });
  }
  return placed;
}

async function write(handle: FileHandle, entry: Placed, into: string): Promise<void> {
  const target = join(into, entry.path);
  await mkdir(entry.isFolder ? target : dirname(target), { recursive: true, mode: 0o700 });
  if (entry.isFolder) return;
  const check = checked(entry);
  const file = createWriteStream(target, { flags: "wx", mode: entry.isProgram ? 0o700 : 0o600 });
  const packed = chunksOf(handle, entry);
  if (entry.method === 8) await pipeline(packed, createInflateRaw(), check, file);
  else await pipeline(packed, check, file);
}

const CHUNK = 65_536;

async function* chunksOf(handle: FileHandle, { at, packed }: Placed): AsyncGenerator<Buffer> {
  for (let done = 0; done < packed; done += CHUNK)
    yield await bytesAt(handle, at + done, Math.min(CHUNK, packed - done));
}

/** Passes bytes on, no more than the index promises. Fails at the end when they are others than it promises. */
function checked({ path, bytes, crc }: Entry): Transform {
  let [count, sum] = [0, 0];
  return new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      count += chunk.length;
      sum = crc32(chunk, sum);
      if (count > bytes) pass(unsafe(`${path} in the archive is larger than its index says.`));
      else pass(null, chunk);
    },
    flush(done) {
      done(count === bytes && sum === crc ? null : broken(`${path} is damaged`));
    },
  });
}

async function bytesAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}
