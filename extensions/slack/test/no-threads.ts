import type { View } from "../view.ts";

/** A workspace of which nobody has asked for a thread. */
export const NO_THREADS: View["threads"] = {
  read: async () => undefined,
  isFirstSight: () => true,
  hasBot: async () => false,
  join: () => undefined,
  wrote: () => undefined,
  ofOwn: async () => undefined,
  inherits: () => false,
  before: async () => [],
};
