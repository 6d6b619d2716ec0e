import { homedir } from "node:os";
import type { FoundProgram } from "../../../types/run/backend.ts";
import { hasEscape } from "../programs/escapes.ts";
import { isInterpreter, isRunner, isWrapper, mayStartOthers, programName } from "../programs/kinds.ts";
import type { ExecRow } from "./document.ts";

/** A row of the approvals document, compiled for comparisons. */
export interface CompiledRow {
  readonly row: ExecRow;
  /** Glob on the program's path; undefined for a row that matches no program by its path. */
  readonly path?: RegExp;
  /** Name of the program, for a pattern without a slash. */
  readonly name?: string;
  /** Pattern of the arguments; undefined when any arguments match. */
  readonly args?: RegExp;
  /** True when a wildcard in the pattern matches programs that the pattern does not name. */
  readonly isWild: boolean;
  /** True when zero bytes instead of spaces join the arguments. */
  readonly isExact: boolean;
}

/** Pattern that never matches, in place of an invalid regular expression. */
const NEVER = /(?!)/;
const CASE = process.platform === "win32" ? "i" : "";

export function compileRow(row: ExecRow): CompiledRow {
  const { pattern, argPattern } = row;
  const args = argPattern === undefined ? {} : { args: compileArgs(argPattern) };
  const base = { row, ...args, isWild: /[*?]/.test(pattern), isExact: hasZeroBytes(argPattern) };
  if (pattern.startsWith("=")) return base;
  return /[/\\~]/.test(pattern) ? { ...base, path: globOf(pattern) } : { ...base, name: pattern };
}

const hasZeroBytes = (argPattern = ""): boolean => /\0|\\x00|\\0/.test(argPattern);

function compileArgs(source: string): RegExp {
  try {
    return new RegExp(source, "su");
  } catch {
    return NEVER;
  }
}

/** Regular expression of a glob. `*` and `?` stay in one part of the path, `**` goes across parts. */
function globOf(pattern: string): RegExp {
  const whole = pattern.replace(/^~(?=$|\/)/, () => homedir());
  const source = whole.replaceAll(/\*\*|[*?]|[^\w/]/g, (part) => {
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : `\\${part}`;
  });
  return new RegExp(`^${source}$`, `s${CASE}`);
}

/** A simple command, with the facts that a row is compared with. */
interface MatchedCommand {
  readonly words: readonly string[];
  readonly isPiped: boolean;
  readonly program?: FoundProgram | undefined;
}

/**
 * The row that lets a command run, if any. No row allows a program that the agent can write, a program whose arguments
 * are another command, or an interpreter that reads its code from a pipe or from its command line. A row with only a path
 * allows neither an interpreter nor an option that starts another program: it would allow all code. A row with a
 * wildcard covers no program that may start another one in any way. Pure.
 */
export function rowFor(
  { words, program, isPiped }: MatchedCommand,
  { rows }: { readonly rows: readonly CompiledRow[] },
  { isStrict }: { readonly isStrict: boolean },
): ExecRow | undefined {
  if (program === undefined || program.writable !== undefined) return undefined;
  const [word = "", ...args] = words;
  const names = [word, program.path, program.real];
  if (names.some(isWrapper)) return undefined;
  const runsCode = names.some((name) => isInterpreter(name) || isRunner(name));
  const isEscaping = names.some((name) => hasInlineCode(name, args) || hasEscape(name, args));
  if ((runsCode && isPiped) || (isStrict && isEscaping)) return undefined;
  const needsArgs = runsCode || isEscaping;
  const startsOthers = program.startsOthers === true || names.some(mayStartOthers);
  const mayMatch = ({ args: pattern, row, isWild }: CompiledRow) =>
    !(isWild && startsOthers) && (!needsArgs || (pattern !== undefined && row.source !== "allow-always"));
  return rows.find((row) => mayMatch(row) && isProgram(row, word, program) && areArgs(row, args))?.row;
}

function isProgram({ path, name }: CompiledRow, word: string, program: FoundProgram): boolean {
  if (path) return path.test(program.real) || path.test(program.path);
  return name === word;
}

function areArgs({ args: pattern, isExact }: CompiledRow, args: readonly string[]): boolean {
  if (!pattern) return true;
  return pattern.test(isExact ? args.map((arg) => `${arg}\0`).join("") || "\0\0" : args.join(" "));
}

/** Programs that always run code from their arguments or from a file in the directory. */
const ALWAYS = new Set(
  "awk gawk mawk nawk sed gsed ed ex vi vim nvim emacs gdb lldb expect osascript make gmake bmake cmake ninja just task rake xargs m4 dc".split(
    " ",
  ),
);

/** Words of `find` and `fd` that start a program, write or remove. */
const FIND = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprintf|fprint0|fls|x|X)$|^--exec/;

/** First words that are no script, as in `deno eval`. */
const NO_SCRIPT = new Set("eval exec repl x dlx".split(" "));

/**
 * Whether the code that a program runs may be in its arguments or its input instead of in a file. An interpreter's code
 * may be, unless the first argument is a script file. Pure.
 */
function hasInlineCode(word: string, args: readonly string[]): boolean {
  const name = programName(word);
  if (ALWAYS.has(name)) return true;
  if (name === "find" || name === "fd") return args.some((arg) => FIND.test(arg));
  const [first = "-"] = args;
  return isInterpreter(word) && (first.startsWith("-") || NO_SCRIPT.has(first));
}
