import { z } from "zod";
import { about } from "../utils/config.ts";

/** Keys of `agents.defaults` that say how much the model remembers. */
export const historyDefaultsShape = {
  contextTokens: z
    .int()
    .min(1000)
    .optional()
    .meta(about("Context tokens", "Cap on the model's context window in tokens; the model's own window when unset.")),
};
