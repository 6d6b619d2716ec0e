import { InvalidArgumentError, Option, type Command } from "commander";
import type { Io } from "../io.ts";

/** Converts a command's function, which returns the exit code, to an action. */
export type Act = <Args extends readonly unknown[]>(
  run: (io: Io, ...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;

/** A whole number as a flag's value. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };

/** A flag that may be given several times, or once with commas. */
export const listOf = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text.split(",").flatMap((part) => part.trim() || []),
];

/** `--yes` of a command that asks before it acts; `--force`, which some people type instead, says the same. */
export const unasked = (command: Command): Command =>
  command
    .addOption(new Option("--yes", "do not ask").implies({ force: true }))
    .addOption(new Option("--force", "do not ask").hideHelp());
