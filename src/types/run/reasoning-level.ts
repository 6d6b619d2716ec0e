/** How a chat is shown the model's thoughts: before each text, or while they come where the chat has a preview of the answer. */
export type ReasoningLevel = "off" | "on" | "stream";

export const REASONING_LEVELS: readonly ReasoningLevel[] = ["off", "on", "stream"];

/** The level of this name, whatever its case. */
export const reasoningLevelOf = (word: string): ReasoningLevel | undefined =>
  REASONING_LEVELS.find((level) => level === word.toLowerCase());
