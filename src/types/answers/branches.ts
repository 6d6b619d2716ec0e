import { z } from "zod";
import { keyField } from "../key-field.ts";

const branch = z.looseObject({
  leafEntryId: z.string(),
  headline: z.string(),
  messageCount: z.number(),
  /** ISO 8601. */
  updatedAt: z.string(),
  active: z.boolean(),
});

/** A person's turn of the active branch that others took the place of, or that took the place of others. */
const versions = z.looseObject({
  entryId: z.string(),
  /** The place of this turn among its versions, from 0; the one written first is the first. */
  at: z.number(),
  /** The branch written last of each version, in the order of the versions. */
  leaves: z.array(z.string()),
});

/** The answers of `sessions.branches.*`, `sessions.rewind` and `sessions.fork`. `editorText`: what the turn's person wrote. */
export const branchAnswers = {
  list: z.looseObject({ branches: z.array(branch) }),
  versions: z.looseObject({ branches: z.number(), versions: z.array(versions) }),
  switch: z.looseObject({}),
  rewind: z.looseObject({ editorText: z.string() }),
  fork: z.looseObject({ sessionKey: keyField(), editorText: z.string() }),
};
