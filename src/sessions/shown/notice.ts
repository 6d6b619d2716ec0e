import { z } from "zod";
import type { TranscriptEntry } from "../../types/session.ts";
import { NOTICE_TYPE } from "../transcript/history.ts";

const fileShape = z.object({
  kind: z.string(),
  mime: z.string().optional(),
  name: z.string().optional(),
  bytes: z.number().optional(),
  source: z.object({ at: z.literal("store"), id: z.string() }),
});
export type NoticeFile = z.output<typeof fileShape>;

const noticeShape = z.object({
  text: z.string(),
  /** The command that the notice answers. */
  said: z.string().optional(),
  runId: z.string().optional(),
  /** The error as the failed part reported it. */
  error: z.string().optional(),
  /** The kind of the failure. */
  failure: z.string().optional(),
  media: z.array(fileShape).optional(),
});
export type ShownNotice = z.output<typeof noticeShape>;

/** The notice that an entry holds; undefined for every other entry. */
export function noticeIn(entry: TranscriptEntry): ShownNotice | undefined {
  return entry.type === "custom" && entry.customType === NOTICE_TYPE
    ? noticeShape.safeParse(entry.data).data
    : undefined;
}

/** A file of the media store that is not shown, in one line. */
export const fileLine = (name: string | undefined, id: string): string => `📎 ${name ?? "file"} (\`media/${id}\`)`;
