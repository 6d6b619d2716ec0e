import type { ExecSettings } from "../types/settings.ts";
import { splitCommand, trimCommand, type SimpleCommand } from "./shell-words.ts";

export type ExecDecision = "run" | "ask" | "deny";

// What runs without asking. Each may only tell something, whatever its arguments are: `env`, `find` and `xargs` start
// other programs, `date` reads files and sets the clock, so they are not here.
const SAFE: Readonly<Record<string, (words: readonly string[]) => boolean>> = {
  pwd: (words) => words.every((word) => word === "-P" || word === "-L"),
  whoami: (words) => words.length === 0,
  uname: (words) => words.every((word) => /^-[amnoprsv]+$/.test(word)),
  echo: () => true,
};

// Programs whose purpose is to run others: no list makes them safe.
const NEVER_SAFE = new Set(
  (
    "sh bash dash zsh ksh fish csh tcsh busybox pwsh powershell cmd python python2 python3 perl ruby node deno bun php " +
    "lua awk gawk mawk sed ed vi vim env xargs find fd parallel sudo doas su nohup nice setsid stdbuf time timeout " +
    "watch tee dd eval exec source command builtin trap ssh script expect make npm npx git"
  ).split(" "),
);

// What changes the place or the meaning of the commands behind it.
const CHANGES_THE_REST = new Set("cd pushd popd chdir export alias unalias set unset hash umask .".split(" "));

/** A builtin that changes the place or the meaning of the commands behind it. */
export const changesTheRest = (program: string): boolean => CHANGES_THE_REST.has(program);

// A program of the operator's list may read its standard input: flags and numbers, but nothing that could name a file,
// as `-ofile` and `-f/file` would.
const PLAIN_ARGUMENT = /^(?:-[A-Za-z]\d*|--[A-Za-z][A-Za-z-]*(?:=\d+)?|[+-]?\d+)$/;

function isSafe({ words: [program = "", ...rest] }: SimpleCommand, safeBins: readonly string[]): boolean {
  const rule = Object.hasOwn(SAFE, program) ? SAFE[program] : undefined;
  if (rule !== undefined) {
    return rule(rest);
  }
  return safeBins.includes(program) && !NEVER_SAFE.has(program) && rest.every((word) => PLAIN_ARGUMENT.test(word));
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
 * Whether a command may run. A command runs unasked when every simple command in it is safe or was allowed for good;
 * one that is not fully understood never does. Pure.
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

/** The texts that an allowance for good may be stored under: the whole command and each simple one in it. */
export function allowanceTexts(command: string): readonly string[] {
  return [...new Set([trimCommand(command), ...(splitCommand(command) ?? []).map((part) => part.source)])];
}
