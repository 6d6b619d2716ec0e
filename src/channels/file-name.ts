import type { MediaItem } from "../types/chat/message.ts";

/** Endings of MIME types whose subtype is not the usual ending. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "application/x-tgsticker": "tgs",
  "text/plain": "txt",
};
/** Subtypes that can be an ending, such as `png` of `image/png`. */
const ENDING = /^[a-z0-9]{2,5}$/;

/** The name of a file that is sent to a platform: its own, or its kind with the ending of its MIME type, as `image.png`. */
export function fileNameOf({ name, kind, mime }: Pick<MediaItem, "name" | "kind" | "mime">): string {
  if (name !== undefined) return name;
  const [type = ""] = (mime ?? "").toLowerCase().split(";");
  const [, subtype = ""] = type.trim().split("/");
  return `${kind}.${ENDINGS[type.trim()] ?? (ENDING.test(subtype) ? subtype : "bin")}`;
}
