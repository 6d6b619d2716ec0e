import type { MediaKind } from "./message.ts";

/** The kind of a file of this MIME type in a chat. `asVoice`: a sound is a voice message. */
export function mediaKindOf(mime: string, asVoice = false): MediaKind {
  const [family] = mime.split("/");
  if (family === "audio") return asVoice ? "voice" : "audio";
  return family === "image" || family === "video" ? family : "document";
}
