import { z } from "zod";

/** `plugins.entries.memory-core.config`: the memory has no settings yet. OpenClaw writes `dreaming`, which has no effect here. */
export const settings = z.strictObject({ dreaming: z.unknown().optional() });
