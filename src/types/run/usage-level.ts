/** Details about the cost of each answer that a chat sees: nothing, its tokens, or also its price, model and time. */
export const USAGE_LEVELS = ["off", "tokens", "full"] as const;
export type UsageLevel = (typeof USAGE_LEVELS)[number];

/** A level by its name, whatever its case; `on` means `tokens`. */
export function usageLevelOf(word: unknown): UsageLevel | undefined {
  if (typeof word !== "string") return undefined;
  const name = word.toLowerCase();
  return name === "on" ? "tokens" : USAGE_LEVELS.find((level) => level === name);
}
