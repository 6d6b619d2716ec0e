import { homedir } from "node:os";
import type { FoundProgram } from "../../../types/run/backend.ts";
import { hasEscape } from "../programs/escapes.ts";
import { isInterpreter, isRunner, isWrapper, mayStartOthers, programName } from "../programs/kinds.ts";
import type { ExecRow } from "./document.ts";

/** A row of the approvals document, ready to be compared. */
export interface CompiledRow {
  readonly row: ExecRow;
  /** Undefined for a row that matches no program by its path or name. */
  readonly path?: RegExp;
  /** The bare word, for a pattern without a slash. */
  readonly name?: string;
  /** Undefined when every argument will do. */
  readonly args?: RegExp;
  /** A wildcard in the pattern stands for programs that it does not name. */
  readonly isWild: boolean;
  /** Zero bytes instead of spaces join the arguments. */
  readonly isExact: boolean;
}

/** Never matches, for a regular expression that is none. */
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

/** `*` and `?` stay in one part of the path, `**` goes across parts. */
function globOf(pattern: string): RegExp {
  const whole = pattern.replace(/^~(?=$|\/)/, () => homedir());
  const source = whole.replaceAll(/\*\*|[*?]|[^\w/]/g, (part) => {
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : `\\${part}`;
  });
  return new RegExp(`^${source}$`, `s${CASE}`);
}

/** A simple command, with what its row must be compared with. */
interface MatchedCommand {
  readonly words: readonly string[];
  readonly isPiped: boolean;
  readonly program?: FoundProgram | undefined;
}

/**
 * The row that lets a command run, if any. None does for a program that the agent can write, for one that starts what its
 * arguments name, for an interpreter behind a pipe or with code on its command line, nor a row of a path alone for an
 * interpreter, or for an option that starts another program: it would allow all code. A row with a wildcard covers no program
 * that may start another one in any way. Pure.
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

/** Programs whose arguments or whose file in the directory are code in any case. */
const ALWAYS = new Set(
  "awk gawk mawk nawk sed gsed ed ex vi vim nvim emacs gdb lldb expect osascript make gmake bmake cmake ninja just task rake xargs m4 dc".split(
    " ",
  ),
);

/** Words of `find` and `fd` that start a program, write or remove. */
const FIND = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprintf|fprint0|fls|x|X)$|^--exec/;

/** First words that are no script: `deno eval`, `bun -e`, `python3 -`. */
const NO_SCRIPT = new Set("eval exec repl x dlx".split(" "));

/**
 * Whether the code that a program runs may be in its arguments or its input instead of in a file. Anything but a script
 * file as an interpreter's first argument may be. Pure.
 */
function hasInlineCode(word: string, args: readonly string[]): boolean {
  const name = programName(word);
  if (ALWAYS.has(name)) return true;
  if (name === "find" || name === "fd") return args.some((arg) => FIND.test(arg));
  const [first = "-"] = args;
  return isInterpreter(word) && (first.startsWith("-") || NO_SCRIPT.has(first));
}
