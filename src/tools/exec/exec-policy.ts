import type { FoundProgram, SteeringFiles } from "../../types/run/backend.ts";
import type { ExecSettings } from "../../types/settings.ts";
import type { PlannedCommand } from "./plan/plan.ts";
import { trimCommand } from "./plan/shell-words.ts";
import { isInterpreter, isRunner } from "./programs/kinds.ts";
import { changesTheRest } from "./programs/builtins.ts";
import type { ExecPolicy } from "./rules/policy.ts";
import type { ExecRow } from "./rules/document.ts";
import { rowFor } from "./rules/rows.ts";
import { isSafeBin } from "./safe-bins.ts";

export type ExecDecision = "run" | "ask" | "deny";

/** A simple command with the program that it starts. */
export interface KnownCommand extends PlannedCommand {
  readonly program?: FoundProgram | undefined;
  /** Reason why the program may start another one; undefined when there is none. */
  readonly steering?: SteeringFiles | undefined;
}

/** A command before the decision about it. Without parts the command is not understood. */
export interface ConsideredCommand {
  readonly command: string;
  readonly parts: readonly KnownCommand[] | undefined;
}

/** Permanent allowances and the approvals document, which let commands run without a question. */
export interface ExecRules {
  /** Whether this text, the whole command or a part of it, is permanently allowed. */
  isAllowed(text: string): boolean;
  readonly policy: ExecPolicy;
}

// Builtins that print something or do nothing, whatever their arguments are.
const BUILTINS: Readonly<Record<string, (words: readonly string[]) => boolean>> = {
  pwd: (words) => words.every((word) => word === "-P" || word === "-L"),
  echo: () => true,
  true: () => true,
  false: () => true,
  ":": () => true,
};

// Programs that print something. `env`, `find` and `xargs` are missing because they start other programs, `date`
// because it reads files and sets the clock.
const PROGRAMS: typeof BUILTINS = {
  whoami: (words) => words.length === 0,
  uname: (words) => words.every((word) => /^-[amnoprsv]+$/.test(word)),
};

const ruleIn = (rules: typeof BUILTINS, name: string) => (Object.hasOwn(rules, name) ? rules[name] : undefined);

/** Whether the shell itself carries out this command. */
export const isBuiltin = ({ words: [name = ""] }: KnownCommand): boolean => Object.hasOwn(BUILTINS, name);

function isSafe({ words: [name = "", ...rest], program }: KnownCommand, settings: ExecSettings): boolean {
  const builtin = ruleIn(BUILTINS, name);
  if (builtin) return builtin(rest);
  if (program === undefined || program.writable !== undefined) return false;
  const rule = ruleIn(PROGRAMS, name);
  return rule ? rule(rest) : isSafeBin({ name, words: rest, program }, settings);
}

/** Reason why a command may start a program that it does not name; undefined when there is none. */
export const whySteered = ({ parts = [] }: Pick<ConsideredCommand, "parts">): string | undefined =>
  parts.find(({ steering }) => steering !== undefined)?.steering?.why;

function isOnList({ command, parts }: ConsideredCommand, settings: ExecSettings, rules: ExecRules): boolean {
  if (whySteered({ parts }) !== undefined) return false;
  if (rules.isAllowed(trimCommand(command))) return true;
  if (parts === undefined || changesShell(parts)) return false;
  return parts.every(
    (part) => isSafe(part, settings) || isAllowedPart(part, rules) || rowOfPart(part, settings, rules) !== undefined,
  );
}

/**
 * Whether a part changes the meaning of the later parts. A shell runs its own builtins among several commands; a single
 * command that is no builtin is started without a shell.
 */
const changesShell = (parts: readonly KnownCommand[]): boolean =>
  parts.some(({ words }) => changesTheRest(words, { isAlone: parts.length === 1 }));
const rowOfPart = (part: KnownCommand, { strictInlineEval }: ExecSettings, { policy }: ExecRules) =>
  rowFor(part, policy, { isStrict: strictInlineEval !== false });

/** Permission by which a command runs: a permanently allowed text, or a row for programs. */
export interface Grant {
  readonly text: string;
  readonly row?: ExecRow;
  readonly program?: FoundProgram | undefined;
}

/** The permissions of a command that `decideExec` lets run. Pure. */
export function grantsFor(
  { command, parts = [] }: ConsideredCommand,
  settings: ExecSettings,
  rules: ExecRules,
): readonly Grant[] {
  const text = trimCommand(command);
  if (rules.isAllowed(text)) return [{ text, program: parts.length === 1 ? parts[0]?.program : undefined }];
  return parts.flatMap((part): readonly Grant[] => {
    const { source, program } = part;
    if (isSafe(part, settings)) return [];
    if (isAllowedPart(part, rules)) return [{ text: source, program }];
    const row = rowOfPart(part, settings, rules);
    return row ? [{ text: source, row, program }] : [];
  });
}

/**
 * Whether a part is permanently allowed. Input from a pipe may be code for an interpreter, so only the whole pipeline
 * can be allowed then.
 */
function isAllowedPart({ source, words: [name = ""], isPiped }: KnownCommand, rules: ExecRules): boolean {
  return !(isPiped && (isInterpreter(name) || isRunner(name))) && rules.isAllowed(source);
}

/**
 * Whether a command may run. It runs without a question when each of its simple commands is safe, permanently allowed
 * or matched by a row of the approvals document; a command that is not fully understood never does. `settings` are
 * already the stricter of config, session and document. Pure.
 */
export function decideExec(considered: ConsideredCommand, settings: ExecSettings, rules: ExecRules): ExecDecision {
  if (settings.security === "deny") return "deny";
  if (settings.ask === "always") return "ask";
  if (settings.security === "full") return "run";
  if (isOnList(considered, settings, rules)) return "run";
  return settings.ask === "off" ? "deny" : "ask";
}

/** The texts that a permanent allowance may cover: the whole command and each of its simple commands. */
export const allowanceTexts = ({ command, parts = [] }: ConsideredCommand): readonly string[] => [
  ...new Set([trimCommand(command), ...parts.map((part) => part.source)]),
];
