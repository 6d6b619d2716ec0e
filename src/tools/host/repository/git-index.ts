/** Bytes before the name of an entry: times and sizes, an object's id, flags. */
const FIXED = 62;
const EXTENDED = 0x4000;
const LENGTH = 0x0fff;
const SUBMODULE = 0o16;

/**
 * The paths of the submodules in Git's index, versions 2 to 4. Undefined when the bytes are not understood. Does not
 * see entries in another file of a split index. Pure.
 */
export function submodulesIn(bytes: Buffer): readonly string[] | undefined {
  try {
    return readEntries(bytes);
  } catch {
    // The index ends in the middle of an entry.
    return undefined;
  }
}

function readEntries(bytes: Buffer): readonly string[] | undefined {
  const version = bytes.readUInt32BE(4);
  if (bytes.toString("latin1", 0, 4) !== "DIRC" || version < 2 || version > 4) return undefined;
  const found: string[] = [];
  let at = 12;
  let name = "";
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const entry = readEntry(bytes, at, version === 4 ? name : undefined);
    if (entry === undefined) return undefined;
    ({ name, next: at } = entry);
    if (bytes.readUInt32BE(entry.at + 24) >>> 12 === SUBMODULE) found.push(name);
  }
  return found;
}

interface Entry {
  readonly at: number;
  readonly name: string;
  readonly next: number;
}

/**
 * Reads an entry. `before`: the name of the previous entry, whose beginning version 4 leaves out; undefined for other
 * versions.
 */
function readEntry(bytes: Buffer, at: number, before: string | undefined): Entry | undefined {
  const flags = bytes.readUInt16BE(at + FIXED - 2);
  const begin = at + FIXED + ((flags & EXTENDED) === 0 ? 0 : 2);
  if (before !== undefined) return readShortened(bytes, { at, begin }, before);
  const end = (flags & LENGTH) < LENGTH ? begin + (flags & LENGTH) : bytes.indexOf(0, begin);
  if (end < begin || bytes.readUInt8(end) !== 0) return undefined;
  // Zero bytes fill the entry up to a multiple of eight, at least one.
  return { at, name: bytes.toString("utf8", begin, end), next: at + Math.floor((end - at + 8) / 8) * 8 };
}

function readShortened(bytes: Buffer, { at, begin }: { at: number; begin: number }, before: string): Entry | undefined {
  let start = begin;
  let byte = bytes.readUInt8(start);
  let dropped = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    start += 1;
    byte = bytes.readUInt8(start);
    dropped = (dropped + 1) * 128 + (byte & 0x7f);
  }
  const old = Buffer.from(before);
  const end = bytes.indexOf(0, start + 1);
  if (end < 0 || dropped > old.length) return undefined;
  const rest = bytes.subarray(start + 1, end);
  return { at, name: Buffer.concat([old.subarray(0, old.length - dropped), rest]).toString("utf8"), next: end + 1 };
}
