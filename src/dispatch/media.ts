import type { AttachedFile } from "../prompt/draft.ts";
import type { InboxRow } from "../types/journal.ts";
import type { InboundMessage, MediaItem, MediaKind, Peer } from "../types/message.ts";
import type { ImageContent } from "../types/model.ts";
import type { DispatchPorts } from "./ports.ts";

export interface FetchedMedia {
  readonly files: readonly AttachedFile[];
  readonly images: readonly ImageContent[];
  /** What was said in the recordings of a message, by the id of its row. */
  readonly spoken: ReadonlyMap<InboxRow["id"], readonly string[]>;
}

/** Bytes of an image that a model is shown directly; larger ones stay files. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp)$/;

/** Fetches what lies beside the messages. A file that cannot be had is told to the log; the text is answered all the same. */
export async function fetchMedia(rows: readonly InboxRow[], ports: DispatchPorts): Promise<FetchedMedia> {
  const items = rows.flatMap((row) => row.message.media.map((item) => ({ item, row })));
  const fetched = await Promise.all(
    items.map(async ({ item, row }) => ({ row: row.id, ...(await fetchItem(item, row.message.from, ports)) })),
  );
  const said = fetched.flatMap(({ row, words }) => (words === undefined ? [] : [{ row, words }]));
  return {
    files: fetched.flatMap(({ file }) => file ?? []),
    images: fetched.flatMap(({ image }) => image ?? []),
    spoken: new Map([...Map.groupBy(said, ({ row }) => row)].map(([row, own]) => [row, own.map(({ words }) => words)])),
  };
}

/** The message with what was said in its recordings below its text. */
export function withSpoken({ id, message }: InboxRow, { spoken }: FetchedMedia): InboundMessage {
  const words = spoken.get(id);
  if (!words) return message;
  return { ...message, text: [message.text, ...words].filter((part) => part.trim() !== "").join("\n") };
}

interface Fetched {
  readonly file?: AttachedFile;
  readonly image?: ImageContent;
  readonly words?: string;
}

async function fetchItem(item: MediaItem, from: Peer, ports: DispatchPorts): Promise<Fetched> {
  try {
    const stored = await store(item, from, ports);
    const { kind, durationSeconds } = item;
    const file = {
      path: stored.path,
      mime: stored.mime,
      kind,
      ...(durationSeconds !== undefined && { durationSeconds }),
    };
    const said = isSpeech(kind) ? await ports.transcribe?.({ ...stored, kind }) : undefined;
    if (said) return { file: { ...file, transcribed: true }, words: spokenLine(item, said.text) };
    return { file, ...(isShown(stored, item) && { image: toImage(stored.bytes, stored.mime) }) };
  } catch (error) {
    ports.log.warn("media not fetched", { channel: from.channel, kind: item.kind, error });
    return {};
  }
}

const isSpeech = (kind: MediaKind): boolean => kind === "voice" || kind === "audio";

/** Marked, because spoken words are written down with mistakes. */
function spokenLine({ kind, durationSeconds }: MediaItem, text: string): string {
  const name = kind === "voice" ? "Voice message" : "Audio";
  const length = durationSeconds === undefined ? "" : `, ${Math.round(durationSeconds)} s`;
  return `[${name}${length}] ${text}`;
}

async function store(item: MediaItem, from: Peer, ports: DispatchPorts) {
  if (item.source.at === "store") {
    const bytes = await ports.media.read(item.source.id);
    return { bytes, path: ports.media.path(item.source.id), mime: item.mime ?? "application/octet-stream" };
  }
  const link = ports.link(from);
  if (!link?.download) throw new Error("the channel cannot fetch files now");
  const got = await link.download(item);
  const kept = await ports.media.put(got.bytes, {
    ...(got.mime && { mime: got.mime }),
    ...(got.name && { name: got.name }),
  });
  return { bytes: got.bytes, path: kept.path, mime: kept.mime };
}

const isShown = (stored: { bytes: Uint8Array; mime: string }, item: MediaItem): boolean =>
  (item.kind === "image" || item.kind === "sticker") &&
  IMAGE_TYPES.test(stored.mime) &&
  stored.bytes.length <= MOST_IMAGE_BYTES;

function toImage(bytes: Uint8Array, mimeType: string): ImageContent {
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType };
}
