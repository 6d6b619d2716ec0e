import { z } from "zod";

/** `plugins.entries.context-window.config` */
export const settings = z.strictObject({ maxTokens: z.int().positive().optional() });
