import { resolve } from "node:path";
import type { BoundFile } from "../../types/run/backend.ts";
import { digestOf } from "./bound-files.ts";
import { changesTheRest } from "./exec-policy.ts";
import { isDataProgram, isInterpreter, isRunner } from "./exec-programs.ts";
import { splitCommand, trimCommand, type SimpleCommand } from "./shell-words.ts";

/** A command in its directory, with the files that it names. */
export interface BoundCommand {
  readonly command: string;
  readonly cwd: string;
  readonly files: readonly BoundFile[];
}

/**
 * Why a command can be allowed once only: what it would run is not told by its text and the files that it names. Undefined
 * when it can be allowed for good. Pure.
 */
function whyOnlyOnce({ command, cwd, files }: BoundCommand): string | undefined {
  const parts = splitCommand(command);
  if (parts === undefined) return "the shell works out a part of it";
  if (!runsDataProgramsOnly(parts) && digestOf(files) === undefined)
    return "a file that it names is too large to be compared";
  return parts.map((part) => whyPart(part, cwd, files)).find((why) => why !== undefined);
}

/** Then the content of the files is data, which may change: `touch made.txt` stays allowed when made.txt is there. */
const runsDataProgramsOnly = (parts: readonly SimpleCommand[]): boolean =>
  parts.length > 0 && parts.every(({ words: [program = ""] }) => isDataProgram(program));

function whyPart({ words: [program = "", first] }: SimpleCommand, cwd: string, files: readonly BoundFile[]) {
  const isBound = (word: string) => files.some(({ path }) => path === resolve(cwd, word));
  if (changesTheRest(program)) return `${program} changes what the commands behind it mean`;
  if (isRunner(program)) return `${program} runs what no word of the command names`;
  if (isInterpreter(program) && (first === undefined || !isBound(first)))
    return `${program} runs code that is in no file which it names first`;
  if (program.includes("/") && !program.startsWith("/") && !isBound(program)) return `there is no file ${program}`;
  return undefined;
}

/**
 * What an allowance for good is kept under: the command, its directory, and the content of the files that it names; any
 * other content is another allowance. Undefined when it can be allowed once only. Pure.
 */
export function allowanceFor(bound: BoundCommand): string | undefined {
  if (whyOnlyOnce(bound) !== undefined) return undefined;
  const { command, cwd, files } = bound;
  // Without files it is the form of earlier versions, so that what was allowed then still counts.
  const isBound = files.length > 0 && !runsDataProgramsOnly(splitCommand(command) ?? []);
  const digest = isBound ? [digestOf(files)] : [];
  return JSON.stringify([cwd, trimCommand(command), ...digest]);
}
