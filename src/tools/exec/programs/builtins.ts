/** Builtins of some shell that change the directory, the variables, or the meaning of later commands. */
const CHANGES = new Set(
  (
    "cd pushd popd dirs chdir export alias unalias set unset setopt unsetopt hash rehash umask ulimit limit . source eval exec command " +
    "builtin trap declare typeset local readonly integer float read mapfile readarray let getopts shift shopt enable zmodload autoload " +
    "emulate vared zstyle bindkey bind complete compctl compgen wait jobs fg bg disown suspend logout exit return break continue " +
    "history fc print disable functions zcompile zparseopts zformat sched coproc select function nameref nocorrect noglob"
  ).split(" "),
);

/** Words that a shell's own `printf` and `test` only print or compare. */
const PLAIN = /^[\w.,:@%+/=-]*$/;
/**
 * Options with which `test` sets or computes: `-v` names a variable; numbers are compared by computing them, which runs
 * code in brackets.
 */
const SETS = /^-(?:v.*|R|eq|ne|lt|le|gt|ge)$/;
/**
 * Words with which `printf` sets or computes: `-v` and `%n` name a variable for the text or its length; brackets in
 * such a name are computed.
 */
const SETS_BY_FORMAT = /^-v|%[-+ #.*\d]*[hlqjzt]*n|\[/;

const BY_WORDS: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  printf: (args) => args.some((arg) => SETS_BY_FORMAT.test(arg)),
  test: (args) => args.some((arg) => SETS.test(arg) || !PLAIN.test(arg)),
  "[": (args) => args.slice(0, -1).some((arg) => SETS.test(arg) || !PLAIN.test(arg)),
};

/**
 * Whether a builtin changes the directory or the meaning of later commands. Each shell has its own builtins, so those
 * of every shell count; `printf` and `test` only with words that set or compute something. A command alone is no
 * builtin of a shell when a program of its name is started without a shell. Pure.
 */
export function changesTheRest(
  [name = "", ...args]: readonly string[],
  { isAlone }: { readonly isAlone: boolean },
): boolean {
  if (CHANGES.has(name)) return true;
  const rule = Object.hasOwn(BY_WORDS, name) ? BY_WORDS[name] : undefined;
  return !isAlone && rule !== undefined && rule(args);
}
