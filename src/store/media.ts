import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { type MediaId, mediaId } from "../types/ids.ts";
import type { MediaStore } from "../types/journal.ts";
import { isMissing } from "../utils/missing.ts";
import { makePrivateDir, writeAtomic } from "./disk.ts";

const ALPHABET = "abcdefghijkmnopqrstuvwxyz0123456789";
const NAME_LENGTH = 26;
/** The part of a sender's file name that is kept: letters of any script, digits, and signs without a meaning in a path. */
const ID = /^[a-z0-9]{26}(?:-[\p{L}\p{M}\p{N}_.-]{1,80})?\.[a-z0-9]{1,8}$/u;
const UNSAFE = /[^\p{L}\p{M}\p{N}_.-]+/gu;
/** Characters of a sender's file name. File systems allow 255 bytes, and a character has up to four. */
const MOST_OF_NAME = 40;
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/;

/** Types of text have no signature in their bytes, so the sender's claim counts for them. */
const PLAIN =
  /^(text\/.+|message\/rfc822|application\/(.+\+)?(json|xml|yaml|toml|x-yaml|x-ndjson|jsonl|javascript|x-sh|sql|pgp-.+))$/;
const SVG = "image/svg+xml";
/** Bytes in which non-text shows itself, and in which an SVG can be recognised. */
const HEAD = 4096;

const TEXT_EXTENSIONS: Readonly<Record<string, string>> = {
  "text/plain": "txt",
  "text/markdown": "md",
  "text/csv": "csv",
  "text/html": "html",
  "text/calendar": "ics",
  "text/vcard": "vcf",
  "application/json": "json",
  "application/xml": "xml",
};

/**
 * Files in one directory. A name is a random id followed by the sender's name, so that the model can distinguish files. The
 * content decides the type; the sender's claim counts only for text.
 */
export function openMediaStore(dir: string): MediaStore {
  const path = (id: MediaId): string => {
    if (!ID.test(id)) throw unavailable(id, undefined);
    return join(resolve(dir), id);
  };
  return {
    path,
    async put(bytes, facts) {
      const { mime, extension } = await sniff(bytes, facts.mime);
      const id = mediaId(`${randomName()}${namePart(facts.name, extension)}.${extension}`);
      await makePrivateDir(dir);
      await writeAtomic(path(id), bytes);
      return { id, mime, path: path(id), bytes: bytes.byteLength };
    },
    async typeOf(bytes, claimed) {
      return (await sniff(bytes, claimed)).mime;
    },
    async read(id) {
      try {
        return await readFile(path(id));
      } catch (error) {
        throw isMissing(error) ? unavailable(id, error) : error;
      }
    },
  };
}

async function sniff(bytes: Uint8Array, claimed: string | undefined): Promise<{ mime: string; extension: string }> {
  // Loaded late, because it is large and a start may never see a file.
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  if (found) return { mime: found.mime, extension: plainExtension(found.ext) };
  const mime = claimed?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!MIME.test(mime) || !isText(bytes, mime)) return { mime: "application/octet-stream", extension: "bin" };
  return { mime, extension: TEXT_EXTENSIONS[mime] ?? "bin" };
}

/** Whether the bytes can be text of the claimed type. */
function isText(bytes: Uint8Array, mime: string): boolean {
  const head = Buffer.from(bytes.subarray(0, HEAD)).toString("latin1");
  if (mime === SVG) return /<svg[\s>]/i.test(head);
  const isWide = head.startsWith("\u00ff\u00fe") || head.startsWith("\u00fe\u00ff");
  return PLAIN.test(mime) && (isWide || !head.includes("\u0000"));
}

function plainExtension(extension: string): string {
  const last = extension.split(".").at(-1) ?? "";
  return /^[a-z0-9]{1,8}$/.test(last) ? last : "bin";
}

/** Without its folders and the ending that the id already has. Empty when nothing is left. */
function namePart(name: string | undefined, extension: string): string {
  const last = name?.normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const stem = last.toLowerCase().endsWith(`.${extension}`) ? last.slice(0, -extension.length - 1) : last;
  const safe = Array.from(stem.replaceAll(UNSAFE, "-")).slice(0, MOST_OF_NAME).join("");
  const bare = safe.replaceAll(/^[-.]+|[-.]+$/g, "");
  return bare === "" ? "" : `-${bare}`;
}

function randomName(): string {
  return Array.from({ length: NAME_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
}

function unavailable(id: string, cause: unknown): OpenClawError {
  return new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `There is no stored file ${JSON.stringify(id)}.`,
    fix: "Ask for the file to be sent again.",
    ...(cause === undefined ? {} : { cause }),
  });
}
