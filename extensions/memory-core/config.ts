import { z } from "zod";

/** `plugins.entries.memory-core.config`: the memory has no settings yet. */
export const settings = z.strictObject({});
