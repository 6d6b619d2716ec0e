import { z } from "zod";
import type { Answer } from "../method.ts";

/** How many things of a kind are to be taken, were taken, stay behind or have failed. */
const kind = z.looseObject({
  kind: z.string(),
  title: z.string(),
  fresh: z.number(),
  taken: z.number(),
  left: z.number(),
  failed: z.number(),
});

const found = z.looseObject({
  /** The state directory of OpenClaw, which is only read. */
  dir: z.string(),
  warnings: z.array(z.string()),
  kinds: z.array(kind),
});
export type FoundState = Answer<z.output<typeof found>>;

/** The end of an import: what was taken, or why nothing was. */
const ended = z.looseObject({
  dir: z.string(),
  /** Epoch milliseconds. */
  at: z.number(),
  error: z.string().optional(),
  warnings: z.array(z.string()),
  kinds: z.array(kind),
  /** The channels of the imported config stay off until the other gateway is stopped. */
  channelsOff: z.boolean(),
});
export type EndedImport = Answer<z.output<typeof ended>>;
export const endedImport = ended;

/** The answers of `openclaw.import.*`. */
export const importAnswers = {
  /** `found`: unset where there is no directory of OpenClaw beside this one, or nothing of it is left to take. */
  detect: z.looseObject({ found: found.optional(), last: ended.optional() }),
  /** The gateway stops, takes everything over, and starts again. */
  start: z.looseObject({ ok: z.literal(true), dir: z.string() }),
};
