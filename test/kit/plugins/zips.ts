import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly path: string;
  readonly text?: string | Buffer;
  /** The mode of a system like Unix; a file without one unless given. */
  readonly mode?: number;
  readonly stored?: boolean;
  /** Where the index says another size, checksum or name than there is. */
  readonly size?: number;
  readonly crc?: number;
  readonly headerName?: string;
  readonly flags?: number;
  readonly method?: number;
}

/** A ZIP archive whose parts are what the entries say, sound or not. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const headers: Buffer[] = [];
  const rows: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.text ?? "");
    const method = entry.method ?? (entry.stored === true ? 0 : 8);
    const packed = method === 8 ? deflateRawSync(content) : content;
    const name = Buffer.from(entry.path);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(entry.flags ?? 0, 2);
    facts.writeUInt16LE(method, 4);
    facts.writeUInt32LE(entry.crc ?? crc32(content), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(entry.size ?? content.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const offset = at;
    const own = Buffer.from(entry.headerName ?? entry.path);
    const ownFacts = Buffer.from(facts);
    ownFacts.writeUInt16LE(own.length, 22);
    const header = Buffer.concat([Buffer.from("PK\u0003\u0004"), ownFacts, own, packed]);
    headers.push(header);
    at += header.length;
    const end = Buffer.alloc(14);
    end.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 6);
    end.writeUInt32LE(offset, 10);
    const made = Buffer.from([20, 3]);
    rows.push(Buffer.concat([Buffer.from("PK\u0001\u0002"), made, facts, end, name]));
  }
  const index = Buffer.concat(rows);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(rows.length, 4);
  end.writeUInt16LE(rows.length, 6);
  end.writeUInt32LE(index.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...headers, index, Buffer.from("PK\u0005\u0006"), end]);
}
