/** What a chat sees of the tools that the agent uses: nothing; a line for each call; also what each call gave. */
export const VERBOSE_LEVELS = ["off", "on", "full"] as const;
export type VerboseLevel = (typeof VERBOSE_LEVELS)[number];

/** A level by its name, whatever its case. */
export const verboseLevelOf = (word: unknown): VerboseLevel | undefined =>
  typeof word === "string" ? VERBOSE_LEVELS.find((level) => level === word.toLowerCase()) : undefined;
