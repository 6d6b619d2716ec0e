import { basename } from "node:path";
import { measure } from "../../history/measure-image.ts";
import type { AttachedFile, MissingFile } from "../../prompt/draft.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage, MediaItem, MediaKind, QuotedMessage } from "../../types/chat/message.ts";
import { mediaUrl, type SentFile, type SentFiles } from "../../types/chat/sent-files.ts";
import type { ImageContent } from "../../types/run/model.ts";
import type { FileFate } from "../../types/run/run.ts";
import { fetchFile, type FetchPorts, type FileEnd, type StoredFile } from "./fetch-file.ts";
import { plainFileName } from "../../utils/text/file-name.ts";
import type { DispatchPorts } from "../ports.ts";

export interface FetchedMedia {
  readonly files: readonly AttachedFile[];
  readonly missing: readonly MissingFile[];
  /** The result for each file. */
  readonly fates: readonly FileFate[];
  readonly images: readonly ImageContent[];
  /** The files that were sent, without those of quoted messages; unset when there are none. */
  readonly sent?: SentFiles;
  /** The transcribed recordings of a message and of the message that it quotes, by the id of the message's row. */
  readonly spoken: ReadonlyMap<InboxRow["id"], readonly Spoken[]>;
}

interface Spoken {
  /** The words, marked as those of a recording. */
  readonly line: string;
  readonly words: string;
  readonly quoted: boolean;
}

/** The most bytes of an image that a model is shown directly; larger images stay files. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp)$/;

/** A message with files, and the id of its row. */
type MediaRow = Pick<InboxRow, "id" | "message">;

export type MediaPorts = FetchPorts & Pick<DispatchPorts, "prompts">;

/**
 * Fetches the files of messages and of the messages that they quote, in parallel. A file that cannot be fetched is
 * reported to the log and to the model, and the text is still answered. Throws as `fetchFile`.
 */
export async function fetchMedia(rows: readonly MediaRow[], ports: MediaPorts): Promise<FetchedMedia> {
  const fetched = await Promise.all(
    itemsOf(rows).map(async (asked) => ({ row: asked.row.id, ...(await fetchItem(asked, ports)) })),
  );
  const said = fetched.flatMap(({ row, spoken }) => (spoken === undefined ? [] : [{ row, spoken }]));
  const sent = sentFilesOf(fetched);
  return {
    ...(sent && { sent }),
    files: fetched.flatMap(({ file }) => file ?? []),
    missing: fetched.flatMap(({ missing }) => missing ?? []),
    fates: fetched.map(({ fate }) => fate),
    images: fetched.flatMap(({ image }) => image ?? []),
    spoken: new Map(
      [...Map.groupBy(said, ({ row }) => row)].map(([row, own]) => [row, own.map(({ spoken }) => spoken)]),
    ),
  };
}

interface Asked {
  readonly item: MediaItem;
  readonly row: MediaRow;
  readonly quoted: boolean;
}

/**
 * Each file of the messages once: a message may quote another message of the same turn, and several may quote the same.
 */
function itemsOf(rows: readonly MediaRow[]): readonly Asked[] {
  const own = rows.flatMap((row) => row.message.media.map((item) => ({ item, row, quoted: false })));
  const quoted = rows.flatMap((row) => (row.message.replyTo?.media ?? []).map((item) => ({ item, row, quoted: true })));
  const placeOf = ({ item: { source } }: Asked) => (source.at === "store" ? source.id : source.ref);
  const places = new Set(own.map(placeOf));
  return [...own, ...quoted.filter((one) => !places.has(placeOf(one)) && places.add(placeOf(one)))];
}

/** The message with its transcribed recordings below its text. A quoted message's recordings stay with the quote. */
export function withSpoken({ id, message }: InboxRow, { spoken }: FetchedMedia): InboundMessage {
  const lines = spoken.get(id);
  if (!lines) return message;
  const linesOf = (quoted: boolean) => lines.filter((one) => one.quoted === quoted).map(({ line }) => line);
  const text = [message.text, ...linesOf(false)].filter((part) => part.trim() !== "").join("\n");
  return { ...message, text, ...withQuoted(message.replyTo, linesOf(true)) };
}

const withQuoted = (replyTo: QuotedMessage | undefined, spoken: readonly string[]): Pick<InboundMessage, "replyTo"> =>
  replyTo && spoken.length > 0 ? { replyTo: { ...replyTo, spoken } } : {};

/** A message contains the images of its own files first, and then those of quoted messages. */
function sentFilesOf(fetched: readonly Fetched[]): SentFiles | undefined {
  const own = fetched.filter(({ sent }) => sent !== undefined);
  if (own.length === 0) return undefined;
  const slots = own.flatMap(({ image }, factIndex) => (image ? [{ kind: "inline", factIndex }] : []));
  return { media: own.flatMap(({ sent }) => sent ?? []), ...(slots.length > 0 && { mediaImageLayout: { slots } }) };
}

interface Fetched {
  readonly fate: FileFate;
  readonly file?: AttachedFile;
  readonly sent?: SentFile;
  readonly missing?: MissingFile;
  readonly image?: ImageContent;
  readonly spoken?: Spoken;
}

async function fetchItem({ item, row, quoted }: Asked, ports: MediaPorts): Promise<Fetched> {
  const end = await fetchFile(item, row.message.from, ports);
  const fate = fateOf(item, row, end);
  if (end.kind === "lost") {
    const { channel } = row.message.from;
    ports.log.warn("media not fetched", { channel, ...fate, error: end.error });
    const mime = item.mime === undefined ? {} : { mime: item.mime };
    const missing = { ...nameOf(item), ...mime, ...lengthOf(item), kind: item.kind, why: end.why };
    return { fate, missing: { ...missing, ...(quoted && { quoted }) } };
  }
  const { file: stored } = end;
  const { kind } = item;
  const file = { path: stored.path, mime: stored.mime, kind, ...lengthOf(item), ...(quoted && { quoted }) };
  const said = isSpeech(kind) ? await ports.prompts.transcribe({ ...stored, kind }) : undefined;
  const sent = quoted ? {} : { sent: sentFileOf(item, stored, said !== undefined) };
  if (said)
    return {
      fate,
      ...sent,
      file: { ...file, transcribed: true },
      spoken: { line: spokenLine(item, said.text), words: said.text, quoted },
    };
  return { fate, file, ...sent, ...(isShown(stored, item) && { image: toImage(stored.bytes, stored.mime) }) };
}

function sentFileOf(item: MediaItem, { path, mime, bytes }: StoredFile, transcribed: boolean): SentFile {
  const fileName = plainFileName(item.name ?? "");
  return {
    url: mediaUrl(basename(path)),
    contentType: mime,
    kind: item.kind === "voice" ? "audio" : item.kind,
    ...(fileName !== undefined && { fileName }),
    sizeBytes: bytes.byteLength,
    ...(item.durationSeconds !== undefined && { durationMs: Math.round(item.durationSeconds * 1000) }),
    ...(transcribed && { transcribed }),
  };
}

const nameOf = ({ name }: MediaItem) => (name === undefined ? {} : { name });
const lengthOf = ({ durationSeconds }: MediaItem) => (durationSeconds === undefined ? {} : { durationSeconds });

function fateOf(item: MediaItem, row: MediaRow, end: FileEnd): FileFate {
  const { tries, ms: durationMs } = end;
  const what = end.kind === "stored" ? { bytes: end.file.bytes.byteLength } : { why: end.why };
  return { inboxId: row.id, kind: item.kind, ...nameOf(item), tries, durationMs, ...what };
}

const isSpeech = (kind: MediaKind): boolean => kind === "voice" || kind === "audio";

/** The line with the words of a recording, marked as such, because speech is transcribed with mistakes. */
function spokenLine({ kind, durationSeconds }: MediaItem, text: string): string {
  const name = kind === "voice" ? "Voice message" : "Audio";
  const length = durationSeconds === undefined ? "" : `, ${Math.round(durationSeconds)} s`;
  return `[${name}${length}] ${text}`;
}

const isShown = (stored: StoredFile, item: MediaItem): boolean =>
  (item.kind === "image" || item.kind === "sticker") &&
  IMAGE_TYPES.test(stored.mime) &&
  stored.bytes.length <= MOST_IMAGE_BYTES &&
  // A provider refuses an image without a valid header, and with it every later request of the conversation.
  measure(stored.bytes) !== undefined;

function toImage(bytes: Uint8Array, mimeType: string): ImageContent {
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType };
}

/** The media of a turn without files. */
export const NO_MEDIA: FetchedMedia = { files: [], missing: [], fates: [], images: [], spoken: new Map() };
