import { resolve } from "node:path";
import type { BoundFile } from "../../../types/run/backend.ts";
import { digestOf } from "./bound-files.ts";
import { isDataProgram } from "../programs/exec-programs.ts";
import { changesTheRest } from "../programs/builtins.ts";
import { isInterpreter, isRunner } from "../programs/kinds.ts";
import { splitCommand, trimCommand, type SimpleCommand } from "../plan/shell-words.ts";

/** A command in its directory, with the files that it names. */
export interface BoundCommand {
  readonly command: string;
  readonly cwd: string;
  readonly files: readonly BoundFile[];
  /** Names of the variables that plugins add to the command's environment; none when unset. */
  readonly variables?: readonly string[];
  /** True when files of a repository may make the command start another program. */
  readonly isSteered?: boolean;
}

/**
 * Reason why a command can be allowed only once: its text and the files that it names do not determine the code that
 * runs. Undefined when the command can be allowed always. Pure.
 */
function whyOnlyOnce({ command, cwd, files, isSteered }: BoundCommand): string | undefined {
  if (isSteered === true) return "the files of a repository say what it runs";
  const parts = splitCommand(command);
  if (parts === undefined) return "the shell computes a part of it";
  if (!runsDataProgramsOnly(parts) && digestOf(files) === undefined)
    return "a file that it names is too large to be compared";
  return parts.map((part) => whyPart(part, cwd, files)).find((why) => why !== undefined);
}

/** Whether all programs treat files as data, which may change: `touch made.txt` stays allowed once made.txt exists. */
const runsDataProgramsOnly = (parts: readonly SimpleCommand[]): boolean =>
  parts.length > 0 && parts.every(({ words: [program = ""] }) => isDataProgram(program));

function whyPart({ words }: SimpleCommand, cwd: string, files: readonly BoundFile[]) {
  const [program = "", first] = words;
  const isBound = (word: string) => files.some(({ path }) => path === resolve(cwd, word));
  if (changesTheRest(words, { isAlone: false })) return `${program} changes what the commands after it mean`;
  if (isRunner(program)) return `${program} runs something that the command does not name`;
  if (isInterpreter(program) && (first === undefined || !isBound(first)))
    return `${program} runs code that is not in a file named as its first argument`;
  if (program.includes("/") && !program.startsWith("/") && !isBound(program)) return `there is no file ${program}`;
  return undefined;
}

/** A permanent allowance of a command, with everything that it is bound to. */
export interface Allowance {
  readonly command: string;
  readonly cwd: string;
  /** The command, its directory, the content of the files that it names and the names of variables that plugins add. */
  readonly key: string;
  /** True when files or variables are part of the key. */
  readonly isBound: boolean;
}

/**
 * The permanent allowance of a command: other content of its files needs another one. Undefined when the command can be
 * allowed only once. Pure.
 */
export function allowanceFor(bound: BoundCommand): Allowance | undefined {
  if (whyOnlyOnce(bound) !== undefined) return undefined;
  const { command, cwd, files, variables = [] } = bound;
  const hasFiles = files.length > 0 && !runsDataProgramsOnly(splitCommand(command) ?? []);
  const digest = hasFiles ? [digestOf(files)] : [];
  const names = variables.length > 0 ? [{ variables: variables.toSorted() }] : [];
  const key = JSON.stringify([cwd, trimCommand(command), ...digest, ...names]);
  return { command, cwd, key, isBound: hasFiles || names.length > 0 };
}
