import { isInterpreter, programName } from "../programs/kinds.ts";

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
export function hasInlineCode(word: string, args: readonly string[]): boolean {
  const name = programName(word);
  if (ALWAYS.has(name)) return true;
  if (name === "find" || name === "fd") return args.some((arg) => FIND.test(arg));
  const [first = "-"] = args;
  return isInterpreter(word) && (first.startsWith("-") || NO_SCRIPT.has(first));
}
