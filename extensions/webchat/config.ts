import { z } from "zod";

/** The web chat is always on and has no settings of its own; what concerns it is below `gateway`. */
export const webchatConfig = z.strictObject({});
export type WebchatConfig = z.output<typeof webchatConfig>;
