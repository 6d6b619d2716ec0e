import { z } from "zod";
import { mediaUrl, sentFiles, type SentFile, type SentFiles } from "../../types/chat/sent-files.ts";
import type { UserMessage } from "../../types/run/model.ts";

const stored = z.looseObject(sentFiles);

/** A line that names a file of the media store to the model. */
const LINE =
  /^\[media attached(?: \d+\/\d+)?: [^\]\n]*?(?<id>[a-z0-9]{26}(?:-(?<name>[\p{L}\p{M}\p{N}_.-]{1,80}))?\.(?<end>[a-z0-9]{1,8}))(?: \((?<mime>[a-z]+\/[^\s,)]+)[^\n]*)?\]$/u;

/**
 * The files of a person's message: as they were noted with it, else as the lines before its text name them, which is how older
 * transcripts have them. Undefined for a message without files. Pure.
 */
export function sentFilesIn(message: UserMessage): SentFiles | undefined {
  const noted = stored.safeParse(message.__openclaw).data;
  if (noted?.media !== undefined && noted.media.length > 0) return pick(noted);
  const named = linesOf(message).flatMap(fileIn);
  return named.length === 0 ? undefined : { media: named, ...layoutOf(named, message) };
}

/** Transcripts of other programs may have more in it. */
const pick = ({ media, mediaImageLayout }: SentFiles): SentFiles => ({
  media,
  ...(mediaImageLayout && { mediaImageLayout }),
});

function linesOf({ content }: UserMessage): readonly string[] {
  const text = typeof content === "string" ? content : content.find((part) => part.type === "text")?.text;
  const lines = (text ?? "").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("[media attached"));
  return end < 0 ? lines : lines.slice(0, end);
}

function fileIn(line: string): readonly SentFile[] {
  const { id, name, end, mime } = LINE.exec(line)?.groups ?? {};
  if (id === undefined) return [];
  const [family] = (mime ?? "").split("/");
  const kind = family === "image" || family === "audio" || family === "video" ? family : "document";
  return [
    {
      url: mediaUrl(id),
      kind,
      ...(mime !== undefined && { contentType: mime }),
      ...(name !== undefined && { fileName: `${name}.${end}` }),
    },
  ];
}

/** An older message contains the bytes of its images in their order. */
function layoutOf(files: readonly SentFile[], { content }: UserMessage): Pick<SentFiles, "mediaImageLayout"> {
  const count = typeof content === "string" ? 0 : content.filter((part) => part.type === "image").length;
  const images = files.flatMap(({ kind }, factIndex) => (kind === "image" ? [{ kind: "inline", factIndex }] : []));
  return count === 0 ? {} : { mediaImageLayout: { slots: images.slice(0, count) } };
}
