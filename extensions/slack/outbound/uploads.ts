import type { AccountNotes } from "openclaw/plugin-sdk";
import { z } from "zod";
import { PersistentList } from "../persistent-list.ts";

const MAX_ENTRIES = 200;

const uploadShape = z.object({
  /** The key of the send. */
  key: z.string(),
  /** The id of the first file. */
  file: z.string(),
  /** Epoch milliseconds. */
  at: z.number().default(0),
});

/** The files of each send, noted before Slack is asked to show the files. */
export type PendingUploads = PersistentList<z.output<typeof uploadShape>>;

export const openUploads = (notes: AccountNotes): PendingUploads =>
  new PersistentList({ notes, name: "uploads", item: uploadShape, most: MAX_ENTRIES });
