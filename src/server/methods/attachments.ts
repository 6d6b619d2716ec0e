import { z } from "zod";
import { mediaKindOf } from "../../types/chat/media-kind.ts";
import type { MediaItem } from "../../types/chat/message.ts";
import { MethodError } from "../../types/method.ts";
import { defined } from "../../utils/defined.ts";
import { plainFileName } from "../../utils/text/file-name.ts";
import { CONNECTION_POLICY } from "../transport/frames.ts";
import type { ServerPorts } from "../options.ts";

const MAX_ATTACHMENTS = 20;

/** A file in a request, as plain base64 or as a data URL. */
const attachmentSchema = z.looseObject({
  type: z.string().optional(),
  mimeType: z.string().optional(),
  fileName: z.string().optional(),
  content: z.string().min(1),
  /** Length of a recording. */
  durationMs: z.number().min(0).max(86_400_000).optional(),
});
export type ClientAttachment = z.infer<typeof attachmentSchema>;
export const attachmentsSchema = z.array(attachmentSchema).max(MAX_ATTACHMENTS).optional();

/** Stores the files of a request. Throws `MethodError` when one is too large or not base64. */
export async function storeAttachments(
  attachments: readonly ClientAttachment[],
  media: ServerPorts["media"],
): Promise<readonly MediaItem[]> {
  const files = attachments.map(decode);
  return Promise.all(files.map((file) => store(file, media)));
}

interface File {
  readonly bytes: Uint8Array;
  readonly mime?: string;
  readonly name?: string;
  /** The sound is a voice message. */
  readonly isVoice: boolean;
  readonly durationMs?: number;
}

async function store(file: File, media: ServerPorts["media"]): Promise<MediaItem> {
  const { bytes, isVoice, durationMs, ...facts } = file;
  const stored = await media.put(bytes, facts);
  return {
    kind: mediaKindOf(stored.mime, isVoice),
    mime: stored.mime,
    bytes: stored.bytes,
    ...(file.name === undefined ? {} : { name: file.name }),
    ...(durationMs === undefined ? {} : { durationSeconds: durationMs / 1000 }),
    source: { at: "store", id: stored.id },
  };
}

function decode(attachment: ClientAttachment): File {
  const [, dataMime] = /^data:([^;,]*)(?:;[^,]*)?,/.exec(attachment.content.slice(0, 256)) ?? [];
  const body =
    dataMime === undefined ? attachment.content : attachment.content.slice(attachment.content.indexOf(",") + 1);
  const mime = attachment.mimeType ?? (dataMime === "" ? undefined : dataMime);
  const name = plainFileName(attachment.fileName ?? "");
  const label = name ?? attachment.type ?? "attachment";
  const bytes = Buffer.from(body, "base64");
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(body) || bytes.length === 0) {
    throw new MethodError("INVALID_REQUEST", `${label} is not base64`);
  }
  checkSize(bytes.length, mime, label);
  return { bytes, isVoice: attachment.type === "voice", ...defined({ mime, name, durationMs: attachment.durationMs }) };
}

function checkSize(bytes: number, mime: string | undefined, label: string): void {
  const { maxBytes, maxImageBytes } = CONNECTION_POLICY.attachments;
  const limit = mime?.startsWith("image/") === true ? maxImageBytes : maxBytes;
  if (bytes <= limit) return;
  throw new MethodError("INVALID_REQUEST", `${label} has ${bytes} bytes; at most ${limit} are accepted`, {
    details: { code: "ATTACHMENT_TOO_LARGE", limit },
  });
}
