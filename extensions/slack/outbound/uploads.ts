import type { AccountNotes } from "openclaw/plugin-sdk";
import { z } from "zod";
import { PersistentList } from "./persistent-list.ts";

const MAX_ENTRIES = 200;

const uploadShape = z.object({
  /** Of the send. */
  key: z.string(),
  /** The first of its files. */
  file: z.string(),
  /** Epoch milliseconds. */
  at: z.number().default(0),
});

/** Files of sends, noted before Slack is told to show them. */
export type Uploads = PersistentList<z.output<typeof uploadShape>>;

export const openUploads = (notes: AccountNotes): Uploads =>
  new PersistentList({ notes, name: "uploads", item: uploadShape, most: MAX_ENTRIES });
