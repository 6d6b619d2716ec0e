import { z } from "zod";
import type { Answer } from "../method.ts";

/** A file of a person's message, in the field's form. */
const sentFile = z.looseObject({
  /** `media://inbound/<name in the media store>`. */
  url: z.string(),
  contentType: z.string().optional(),
  /** `image`, `audio`, `video`, `document` or `sticker`. */
  kind: z.string().optional(),
  fileName: z.string().optional(),
  sizeBytes: z.number().optional(),
  durationMs: z.number().optional(),
  /** The words of the recording are in the message's text. */
  transcribed: z.boolean().optional(),
});
export type SentFile = Answer<z.output<typeof sentFile>>;

/** The files of a message, as `__openclaw` of the message has them. `slots`: the files whose bytes the message contains, in order. */
export const sentFiles = {
  media: z.array(sentFile).optional(),
  mediaImageLayout: z
    .looseObject({ slots: z.array(z.looseObject({ kind: z.string(), factIndex: z.number().optional() })) })
    .optional(),
};
const all = z.looseObject(sentFiles);
export type SentFiles = Answer<z.output<typeof all>>;

const INBOUND = "media://inbound/";

/** The address of a file of the media store in messages. */
export const mediaUrl = (id: string): string => `${INBOUND}${id}`;

/** The name in the media store of a file with such an address; undefined for any other address. */
export function mediaIdIn(url: string): string | undefined {
  const id = url.startsWith(INBOUND) ? url.slice(INBOUND.length) : "";
  return id === "" || /[/\\]/.test(id) ? undefined : id;
}
