/** How a chat is shown the model's thoughts: before each text, or while they come where the chat has a preview of the answer. */
export type ReasoningLevel = "off" | "on" | "stream";

export const REASONING_LEVELS: readonly ReasoningLevel[] = ["off", "on", "stream"];

/** The level of this name, whatever its case. Undefined for every other value, such as a word of another program. */
export const reasoningLevelOf = (word: unknown): ReasoningLevel | undefined =>
  typeof word === "string" ? REASONING_LEVELS.find((level) => level === word.toLowerCase()) : undefined;
