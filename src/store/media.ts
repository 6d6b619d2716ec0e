import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { type MediaId, mediaId } from "../types/ids.ts";
import type { FileFacts, MediaStore } from "../types/journal.ts";
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

/** Types of text by the endings of file names; the first ending of a type is the usual one. */
const TEXT_TYPES: ReadonlyMap<string, string> = new Map(
  [
    ["text/plain", "txt text log ini conf cfg env properties diff patch srt rst tex"],
    ["text/plain", "py rb pl php java kt swift c h cc cpp hpp cs go rs lua r ts tsx jsx ps1 bat vue"],
    ["text/markdown", "md markdown"],
    ["text/csv", "csv"],
    ["text/tab-separated-values", "tsv"],
    ["text/html", "html htm"],
    ["text/css", "css"],
    ["text/javascript", "js mjs cjs"],
    ["text/vtt", "vtt"],
    ["text/calendar", "ics"],
    ["text/vcard", "vcf"],
    ["message/rfc822", "eml"],
    ["application/json", "json"],
    ["application/geo+json", "geojson"],
    ["application/x-ndjson", "jsonl ndjson"],
    ["application/xml", "xml"],
    ["application/gpx+xml", "gpx"],
    ["application/vnd.google-earth.kml+xml", "kml"],
    ["application/yaml", "yaml yml"],
    ["application/toml", "toml"],
    ["application/sql", "sql"],
    ["application/x-sh", "sh bash"],
    [SVG, "svg"],
  ].flatMap(([type = "", endings = ""]) => endings.split(" ").map((ending) => [ending, type] as const)),
);

/** Types of files whose bytes only show their container. The ending of the name says which one it is. */
const CONTAINED: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  [
    "application/x-cfb",
    new Map([
      ["doc", "application/msword"],
      ["xls", "application/vnd.ms-excel"],
      ["ppt", "application/vnd.ms-powerpoint"],
      ["msg", "application/vnd.ms-outlook"],
    ]),
  ],
  ["application/xml", TEXT_TYPES],
]);

/**
 * Files in one directory. A name is a random id followed by the sender's name, so that the model can distinguish files. The
 * content decides the type; for text, which has no signature, the sender's claim and then the ending of the name do.
 */
export function openMediaStore(dir: string): MediaStore {
  const path = (id: MediaId): string => {
    if (!ID.test(id)) throw unavailable(id, undefined);
    return join(resolve(dir), id);
  };
  return {
    path,
    async put(bytes, facts) {
      const { mime, extension } = await sniff(bytes, facts);
      const id = mediaId(`${randomName()}${namePart(facts.name, extension)}.${extension}`);
      await makePrivateDir(dir);
      await writeAtomic(path(id), bytes);
      return { id, mime, path: path(id), bytes: bytes.byteLength };
    },
    async typeOf(bytes, facts) {
      return (await sniff(bytes, facts)).mime;
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

async function sniff(bytes: Uint8Array, facts: FileFacts): Promise<{ mime: string; extension: string }> {
  // The library is loaded late, because it is large and a start may never see a file.
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(bytes);
  const ending = endingOf(facts.name);
  const contained = found && CONTAINED.get(found.mime)?.get(ending);
  if (contained !== undefined) return { mime: contained, extension: ending };
  const sound = found && soundIn(found.mime, bytes);
  if (sound) return sound;
  if (found) return { mime: found.mime, extension: plainExtension(found.ext) };
  const mime = [claimOf(facts), TEXT_TYPES.get(ending)].find((one) => one !== undefined && isText(bytes, one));
  if (mime === undefined) return { mime: "application/octet-stream", extension: "bin" };
  const [usual = "bin"] = [...TEXT_TYPES].find(([, type]) => type === mime) ?? [];
  return { mime, extension: TEXT_TYPES.get(ending) === mime ? ending : usual };
}

/** Bytes in which a WebM file names its tracks. */
const TRACKS = 65_536;

/** A sound in a container that films have too, as browsers record it: the tracks are all sounds. Undefined for other files. */
function soundIn(mime: string, bytes: Uint8Array): { mime: string; extension: string } | undefined {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (mime === "video/webm") {
    const head = all.subarray(0, TRACKS).toString("latin1");
    return /A_(?:OPUS|VORBIS)/.test(head) && !/V_[A-Z]/.test(head)
      ? { mime: "audio/webm", extension: "webm" }
      : undefined;
  }
  if (mime !== "video/mp4" && mime !== "video/quicktime") return undefined;
  const hasTrack = (handler: string) => all.includes(Buffer.from(`hdlr\0\0\0\0\0\0\0\0${handler}`, "latin1"));
  return hasTrack("soun") && !hasTrack("vide") ? { mime: "audio/mp4", extension: "m4a" } : undefined;
}

/** The type that the sender says, if it can be that of a text. */
function claimOf({ mime = "" }: FileFacts): string | undefined {
  const claimed = mime.split(";")[0]?.trim().toLowerCase() ?? "";
  return MIME.test(claimed) && (claimed === SVG || PLAIN.test(claimed)) ? claimed : undefined;
}

/** Whether the bytes can be text of the type. */
function isText(bytes: Uint8Array, mime: string): boolean {
  const head = Buffer.from(bytes.subarray(0, HEAD)).toString("latin1");
  if (mime === SVG) return /<svg[\s>]/i.test(head);
  const isWide = head.startsWith("\u00ff\u00fe") || head.startsWith("\u00fe\u00ff");
  return isWide || !head.includes("\u0000");
}

const endingOf = (name: string | undefined): string => /\.([a-z0-9]+)$/i.exec(name ?? "")?.[1]?.toLowerCase() ?? "";

function plainExtension(extension: string): string {
  const last = extension.split(".").at(-1) ?? "";
  return /^[a-z0-9]{1,8}$/.test(last) ? last : "bin";
}

/**
 * Part of a name for the id: without the name's folders and the ending that the id already has. Empty when nothing is
 * left.
 */
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

/** The result of reading a stored file; undefined when there is none with this id, or it is gone. Rejects with every other error. */
export async function ifKept<T>(reading: () => Promise<T>): Promise<T | undefined> {
  try {
    return await reading();
  } catch (error) {
    if (isMissing(error) || (error instanceof OpenClawError && error.code === "MEDIA_UNAVAILABLE")) return undefined;
    throw error;
  }
}

function unavailable(id: string, cause: unknown): OpenClawError {
  return new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `There is no stored file ${JSON.stringify(id)}.`,
    fix: "Ask for the file to be sent again.",
    ...(cause === undefined ? {} : { cause }),
  });
}
