import type { ExecSettings } from "../../types/settings.ts";
import { isSafeBin } from "./safe-bins.ts";
import { splitCommand, trimCommand, type SimpleCommand } from "./shell-words.ts";

export type ExecDecision = "run" | "ask" | "deny";

// Commands that run without a question. Each only prints something, whatever its arguments are. `env`, `find` and `xargs`
// are missing because they start other programs, `date` because it reads files and sets the clock.
const SAFE: Readonly<Record<string, (words: readonly string[]) => boolean>> = {
  pwd: (words) => words.every((word) => word === "-P" || word === "-L"),
  whoami: (words) => words.length === 0,
  uname: (words) => words.every((word) => /^-[amnoprsv]+$/.test(word)),
  echo: () => true,
};

// Builtins that change the directory or the meaning of the commands after them.
const CHANGES_THE_REST = new Set("cd pushd popd chdir export alias unalias set unset hash umask .".split(" "));

/** Whether a builtin changes the directory or the meaning of the commands after it. */
export const changesTheRest = (program: string): boolean => CHANGES_THE_REST.has(program);

function isSafe({ words: [program = "", ...rest] }: SimpleCommand, safeBins: readonly string[]): boolean {
  const rule = Object.hasOwn(SAFE, program) ? SAFE[program] : undefined;
  if (rule !== undefined) {
    return rule(rest);
  }
  return isSafeBin(program, rest, safeBins);
}

function isOnList(command: string, safeBins: readonly string[], isAllowed: (command: string) => boolean): boolean {
  if (isAllowed(trimCommand(command))) {
    return true;
  }
  const parts = splitCommand(command);
  if (parts === undefined || parts.some(({ words: [program = ""] }) => CHANGES_THE_REST.has(program))) {
    return false;
  }
  return parts.every((part) => isSafe(part, safeBins) || isAllowed(part.source));
}

/**
 * Whether a command may run. It runs without a question when every simple command in it is safe or permanently allowed;
 * a command that is not fully understood never does. Pure.
 */
export function decideExec(
  command: string,
  settings: ExecSettings,
  rules: { isAllowed(command: string): boolean },
): ExecDecision {
  if (settings.security === "deny") {
    return "deny";
  }
  if (settings.ask === "always") {
    return "ask";
  }
  if (settings.security === "full") {
    return "run";
  }
  if (isOnList(command, settings.safeBins, (part) => rules.isAllowed(part))) {
    return "run";
  }
  return settings.ask === "off" ? "deny" : "ask";
}

/** The texts that a permanent allowance may cover: the whole command and each simple command in it. */
export function allowanceTexts(command: string): readonly string[] {
  return [...new Set([trimCommand(command), ...(splitCommand(command) ?? []).map((part) => part.source)])];
}
