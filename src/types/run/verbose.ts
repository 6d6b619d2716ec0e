/**
 * Details about the agent's tool calls that a chat sees: nothing; a line for each call; also the result of each call.
 */
export const VERBOSE_LEVELS = ["off", "on", "full"] as const;
export type VerboseLevel = (typeof VERBOSE_LEVELS)[number];

/** A level by its name, whatever its case. */
export const verboseLevelOf = (word: unknown): VerboseLevel | undefined =>
  typeof word === "string" ? VERBOSE_LEVELS.find((level) => level === word.toLowerCase()) : undefined;
