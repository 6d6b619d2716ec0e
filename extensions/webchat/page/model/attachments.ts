import type { Sent } from "./exchanges.ts";
import type { PageFile } from "./files.ts";
import { size } from "./format.ts";
import type { Limits } from "./protocol.ts";
import { t } from "../words/words.ts";
import type { Editing } from "./state.ts";
import type { Part } from "./transcript.ts";
import { markdownOf } from "./turn-acts.ts";
import type { DisplayedTurn } from "./view.ts";

/** Pixels of the longer side of an image that is scaled down. */
const LONGEST_SIDE = 2048;
/** JPEG quality of an image that is scaled down, 0 to 1. */
const QUALITY = 0.85;
/** The most files that the gateway takes with one message. */
const MOST_FILES = 20;
/** Bytes of a frame beside the text and the files of its message. */
const OVERHEAD = 65_536;

/** Files that are ready to send, and a line for each refused one. */
export interface ReadFiles {
  readonly files: readonly PageFile[];
  readonly refusals: readonly string[];
}

/**
 * Reads files to send beside those that are attached already. An image above the gateway's limit is scaled down. A file that is
 * empty, too large, or too large together with the others is refused.
 */
export async function readFiles(
  added: readonly File[],
  attached: readonly PageFile[],
  limits: Limits,
): Promise<ReadFiles> {
  const files: PageFile[] = [];
  const refusals: string[] = [];
  for (const file of added) {
    const read = await readOrRefuse(file, [...attached, ...files], limits);
    if (typeof read === "string") refusals.push(read);
    else files.push(read);
  }
  return { files, refusals };
}

async function readOrRefuse(file: File, before: readonly PageFile[], limits: Limits): Promise<PageFile | string> {
  const { name } = file;
  if (before.length >= MOST_FILES)
    return t("{name} was left out: a message can have {most} files.", { name, most: MOST_FILES });
  if (file.size === 0) return t("{name} is empty or a folder, which cannot be sent.", { name });
  try {
    return await readFile(file, before, limits);
  } catch {
    return t("{name} could not be read.", { name });
  }
}

async function readFile(file: File, before: readonly PageFile[], limits: Limits): Promise<PageFile | string> {
  const { name } = file;
  const isImage = file.type.startsWith("image/");
  const limit = isImage ? Math.min(limits.image, limits.attachment) : limits.attachment;
  const fitting = (file.size > limit && isImage ? await scaledDown(file) : undefined) ?? file;
  if (fitting.size > limit) {
    const sizes = { name, size: size(fitting.size), limit: size(limit) };
    return isImage
      ? t("{name} is {size}; the gateway accepts images up to {limit}.", sizes)
      : t("{name} is {size}; the gateway accepts files up to {limit}.", sizes);
  }
  const most = limits.payload - OVERHEAD;
  if ((fitting.size * 4) / 3 > most - bytesOf(before))
    return t("{name} does not fit: the files of one message can have {limit}. Send it in a message of its own.", {
      name,
      limit: size((most * 3) / 4),
    });
  return { name, mimeType: fitting.type, size: fitting.size, data: await base64(fitting) };
}

async function scaledDown(file: File): Promise<Blob | undefined> {
  // An image that the browser cannot decode is not scaled down; the caller reports that it is too large.
  const bitmap = await createImageBitmap(file).catch(() => undefined);
  if (bitmap === undefined) return undefined;
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale), Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
}

/** The bytes of a file. Rejects when it cannot be read. */
export function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(url.slice(url.indexOf(",") + 1));
    });
    reader.addEventListener("error", () =>
      reject(reader.error ?? new Error(t("A file of type {type} cannot be read.", { type: blob.type }))),
    );
    reader.readAsDataURL(blob);
  });
}

/** The bytes of a file of a conversation. Rejects with an `Error` whose message is for the person. */
export async function fileBytes(url: string, token: string | undefined): Promise<Blob> {
  const address = new URL("./__openclaw__/assistant-media", location.href);
  address.search = new URLSearchParams({ source: url }).toString();
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token ?? ""}` } }).catch(
    (cause: unknown) => {
      throw new Error(t("The gateway cannot be reached."), { cause });
    },
  );
  if (answer.ok) return answer.blob();
  throw new Error(
    answer.status === 404
      ? t("The gateway does not keep this file any more.")
      : t("The gateway answered {status}.", { status: String(answer.status) }),
  );
}

const bytesOf = (files: readonly PageFile[]): number => files.reduce((sum, { data }) => sum + data.length + 500, 0);

/** The approximate bytes of the message in a frame. UTF-8 has up to three bytes per UTF-16 unit. */
export const frameBytes = ({ text, files }: Sent): number => bytesOf(files) + text.length * 3 + 4096;

/** A file in a request. */
export const attachmentOf = ({ name, mimeType, data, durationMs }: PageFile): Record<string, unknown> => ({
  type: durationMs === undefined ? (mimeType.split("/")[0] ?? "file") : "voice",
  mimeType: mimeType === "" ? undefined : mimeType,
  fileName: name,
  content: data,
  durationMs,
});

/**
 * The words and files of a turn, for a message in its place; undefined before the turn is in the transcript. Rejects when a file
 * cannot be fetched again.
 */
export async function editingOf(
  turn: DisplayedTurn,
  fetched: (url: string) => Promise<Blob>,
): Promise<Editing | undefined> {
  const [entryId] = turn.messageIds;
  const files = await Promise.all(turn.parts.map((part) => fileOf(part, fetched)));
  const text = withoutSpoken(turn);
  return entryId === undefined ? undefined : { entryId, text, files: files.filter((file) => file !== undefined) };
}

async function fileOf(part: Part, fetched: (url: string) => Promise<Blob>): Promise<PageFile | undefined> {
  if (part.kind === "image") {
    const [, mimeType = "", data = ""] = /^data:([^;,]+);base64,(.*)$/s.exec(part.src) ?? [];
    return data === "" ? undefined : { name: part.name, mimeType, size: Math.floor((data.length * 3) / 4), data };
  }
  if (part.kind !== "file") return undefined;
  const { source, kind: _kind, size: known, ...file } = part.file;
  if (source.at === "page") return { ...file, size: known ?? 0, data: source.data };
  const blob = await fetched(source.url);
  return { ...file, size: blob.size, data: await base64(blob) };
}

/** What the gateway wrote down of a recording, which it does again when the recording is sent again. */
const SPOKEN = /^\[(?:Voice message|Audio)(?:, \d+ s)?\] .*$/gm;

const withoutSpoken = (turn: DisplayedTurn): string => {
  const hasSound = turn.parts.some((part) => part.kind === "file" && part.file.kind === "audio");
  return hasSound ? markdownOf(turn).replaceAll(SPOKEN, "").trim() : markdownOf(turn);
};
