import { BLANKS, IGNORABLE, NO_LETTERS } from "../../utils/text/unicode.ts";

// What a screen does not show, shows elsewhere or lets run over something else. The plain space, tab and line feed are the
// only blanks that a command needs.
const UNSEEN = new RegExp(String.raw`[[${IGNORABLE}${NO_LETTERS}${BLANKS}]--[ \t\n]]`, "v");

// More than any layout needs: what follows would stand outside of what a person looks at.
const PUSHED_AWAY = /[ \t]{60}|\t[ \t]{11}|\n(?:[ \t]*\n){3}/;
const MOST_LINES = 60;

/** Characters of a command that a person can be asked about; a chat's own limit may be lower. */
const MOST_READ = 3000;

/** Why a person who is asked would not see what runs; undefined when they would. `paths` are shown with the command. Pure. */
export function whyUnreadable(command: string, paths: readonly string[]): string | undefined {
  if (UNSEEN.test(command) || paths.some((path) => UNSEEN.test(path) || /[\n\t]/.test(path))) {
    return "it holds control or invisible characters; write them as escapes";
  }
  if (PUSHED_AWAY.test(command)) {
    return "long runs of blanks or empty lines hide a part of it; take them out";
  }
  if (command.split("\n").length > MOST_LINES) {
    return `it has more than ${MOST_LINES} lines; put it into a script file and run that`;
  }
  return command.length > MOST_READ
    ? `it has more than ${MOST_READ} characters; put it into a script file and run that`
    : undefined;
}
