import { THINK_LEVELS, type ThinkLevel } from "../../types/run/model.ts";

const WORDS: ReadonlyMap<string, ThinkLevel> = new Map<string, ThinkLevel>([
  ...THINK_LEVELS.map((level): [string, ThinkLevel] => [level, level]),
  ["none", "off"],
  ["min", "minimal"],
  ["max", "xhigh"],
]);

/** A thinking level by one of its names, whatever its case. */
export const thinkLevelOf = (word: string): ThinkLevel | undefined => WORDS.get(word.toLowerCase());
