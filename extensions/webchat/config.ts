import { z } from "zod";

/** The web chat is always on and has no settings here; its settings are under `gateway`. */
export const webchatConfig = z.strictObject({});
export type WebchatConfig = z.output<typeof webchatConfig>;
