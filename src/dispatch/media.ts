import type { AttachedFile } from "../prompt/draft.ts";
import type { InboxRow } from "../types/journal.ts";
import type { MediaItem, Peer } from "../types/message.ts";
import type { ImageContent } from "../types/model.ts";
import type { DispatchPorts } from "./ports.ts";

export interface FetchedMedia {
  readonly files: readonly AttachedFile[];
  readonly images: readonly ImageContent[];
}

/** Bytes of an image that a model is shown directly; larger ones stay files. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp)$/;

/** Fetches what lies beside the messages. A file that cannot be had is told to the log; the text is answered all the same. */
export async function fetchMedia(rows: readonly InboxRow[], ports: DispatchPorts): Promise<FetchedMedia> {
  const items = rows.flatMap((row) => row.message.media.map((item) => ({ item, from: row.message.from })));
  const fetched = await Promise.all(items.map(({ item, from }) => fetchItem(item, from, ports)));
  const there = fetched.filter((media) => media !== undefined);
  return { files: there.map((media) => media.file), images: there.flatMap((media) => media.image ?? []) };
}

async function fetchItem(item: MediaItem, from: Peer, ports: DispatchPorts) {
  try {
    const stored = await store(item, from, ports);
    const file: AttachedFile = { path: stored.path, mime: stored.mime, kind: item.kind };
    const image = isShown(stored, item) ? toImage(stored.bytes, stored.mime) : undefined;
    return { file, image };
  } catch (error) {
    ports.log.warn("media not fetched", { channel: from.channel, kind: item.kind, error });
    return undefined;
  }
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
