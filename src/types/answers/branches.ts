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

/** The answers of `sessions.branches.*`, `sessions.rewind` and `sessions.fork`. `editorText`: what the turn's person wrote. */
export const branchAnswers = {
  list: z.looseObject({ branches: z.array(branch) }),
  switch: z.looseObject({}),
  rewind: z.looseObject({ editorText: z.string() }),
  fork: z.looseObject({ sessionKey: keyField(), editorText: z.string() }),
};
