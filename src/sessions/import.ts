import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { makePrivateDir } from "../store/disk.ts";
import { OpenClawError } from "../types/errors.ts";
import type { SessionKey } from "../types/ids.ts";
import type { Sessions } from "../types/session.ts";
import { BackReader } from "./transcript/back-reader.ts";
import { TRANSCRIPT_VERSION } from "./transcript/entries.ts";
import { openOrMissing, readHeaderLine } from "./transcript/prepare.ts";
import { readLine } from "./transcript/read-line.ts";

/** A transcript that was copied into the folder of sessions and belongs to no session yet. */
export interface CopiedTranscript {
  readonly sessionId: string;
  readonly path: string;
  readonly messages: number;
  /** Lines of which nothing, or not all, can be read. */
  readonly damaged: number;
}

interface CopyTo {
  readonly dir: string;
  readonly key: SessionKey;
  readonly sessionId: string;
  readonly cwd: string;
  now(): number;
}

/**
 * Copies a transcript of any program into the folder of sessions, with a header of its new session. Its entries stay byte
 * for byte. Throws `OpenClawError` USAGE for a file that is missing or has no entry, and TRANSCRIPT_NEWER.
 */
export async function copyTranscript(source: string, to: CopyTo): Promise<CopiedTranscript> {
  const file = await openOrMissing(source, "r");
  if (!file) throw usage(`${source} is missing.`, "Name the transcript, a .jsonl file.");
  try {
    const { size } = await file.stat();
    const { header, bytes } = await readHeaderLine(file, size);
    if (header && header.version > TRANSCRIPT_VERSION)
      throw new OpenClawError("TRANSCRIPT_NEWER", {
        message: `${source} has transcript version ${header.version}; this openclaw knows ${TRANSCRIPT_VERSION}.`,
        fix: "Update openclaw.",
      });
    const from = header ? bytes : 0;
    const found = await count(new BackReader(file, size), from);
    if (found.entries === 0) throw usage(`${source} has no entry that can be read.`, "Name another transcript.");
    const path = join(to.dir, `${to.sessionId}.jsonl`);
    const { timestamp = new Date(to.now()).toISOString(), version = TRANSCRIPT_VERSION } = header ?? {};
    const own = { type: "session", version, id: to.sessionId, timestamp, cwd: to.cwd, sessionKey: to.key };
    await makePrivateDir(to.dir);
    await write({ path, head: `${JSON.stringify(own)}\n`, source, from });
    return { sessionId: to.sessionId, path, messages: found.messages, damaged: found.damaged };
  } finally {
    await file.close();
  }
}

/** Line by line, so that a large file does not have to fit into memory. */
async function count(reader: BackReader, from: number) {
  let entries = 0;
  let messages = 0;
  let damaged = 0;
  for (let raw = await reader.previous(); raw; raw = await reader.previous()) {
    const line = readLine(raw);
    if (!line.isWhole && raw.offset >= from) damaged += 1;
    for (const { link } of line.entries) {
      if (!link.entry) continue;
      entries += 1;
      if (link.entry.type === "message") messages += 1;
    }
  }
  return { entries, messages, damaged };
}

/** A file that could not be written whole is removed again. */
async function write({ path, head, source, from }: { path: string; head: string; source: string; from: number }) {
  const target = await open(path, "wx", 0o600);
  try {
    await target.writeFile(head);
    await pipeline(createReadStream(source, { start: from }), target.createWriteStream({ flush: true }));
  } catch (error) {
    await target.close().catch(() => undefined);
    await rm(path, { force: true });
    throw error;
  }
}

const usage = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });

/** What became of a copied transcript. `taken`: the session has messages, and nobody said that they may be put aside. */
export type Adopted = { readonly kind: "adopted"; readonly archived: boolean } | { readonly kind: "taken" };

/**
 * Makes a copied transcript that of a session. The messages that the session has are put aside as by `/new` where
 * `replace` says so. Waits while a run holds the session.
 */
export async function adoptTranscript(
  sessions: Pick<Sessions, "acquire">,
  { key, sessionId, replace, now }: { key: SessionKey; sessionId: string; replace: boolean; now: number },
): Promise<Adopted> {
  const session = await sessions.acquire(key);
  try {
    const isTaken = !session.isNew;
    if (isTaken && !replace) return { kind: "taken" };
    if (isTaken) await session.reset("reset", { commandSource: "sessions.import" });
    await session.update({ sessionId, sessionFile: `${sessionId}.jsonl`, updatedAt: now });
    return { kind: "adopted", archived: isTaken };
  } finally {
    session.release();
  }
}
