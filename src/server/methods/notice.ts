import { fileLine, noticeIn, type Notice, type NoticeFile } from "../../sessions/shown/notice.ts";
import { mediaId } from "../../types/ids.ts";
import type { MediaStore } from "../../types/journal.ts";
import type { TranscriptEntry } from "../../types/session.ts";

/** Most bytes of an image in a response. */
const MOST_IMAGE_BYTES = 4 * 1024 * 1024;

/** The images of these notices as base64, by id. One that is gone or too large is left out; its name is shown instead. */
export async function imagesIn(
  entries: readonly TranscriptEntry[],
  media: Pick<MediaStore, "read">,
): Promise<ReadonlyMap<string, string>> {
  const images = entries.flatMap((entry) => noticeIn(entry)?.media ?? []).filter(isImage);
  const read = images.map(async ({ source: { id } }) => [id, await dataOf(id, media)] as const);
  return new Map((await Promise.all(read)).flatMap(([id, data]) => (data === undefined ? [] : [[id, data] as const])));
}

const isImage = ({ kind, mime }: NoticeFile): boolean => kind === "image" && mime !== undefined;

async function dataOf(id: string, media: Pick<MediaStore, "read">): Promise<string | undefined> {
  try {
    const bytes = await media.read(mediaId(id));
    return bytes.length > MOST_IMAGE_BYTES ? undefined : Buffer.from(bytes).toString("base64");
  } catch {
    // Files are deleted after a time; the notice's text stays.
    return undefined;
  }
}

/** The content of a notice in the format that chat clients draw. */
export function contentOf({ text, media = [] }: Notice, images: ReadonlyMap<string, string>): readonly object[] {
  const parts = text === "" ? [] : [{ type: "text", text }];
  return [...parts, ...media.map((file) => partOf(file, images.get(file.source.id)))];
}

function partOf({ mime, name, source }: NoticeFile, data: string | undefined): object {
  if (data !== undefined) return { type: "image", mimeType: mime, data, ...(name !== undefined && { fileName: name }) };
  return { type: "text", text: fileLine(name, source.id) };
}
