import { BLANKS, IGNORABLE, NO_LETTERS } from "../../utils/text/unicode.ts";

// Characters that a screen does not show, shows elsewhere or draws over other ones. A command needs no blanks but
// space, tab and line feed.
const UNSEEN = new RegExp(String.raw`[[${IGNORABLE}${NO_LETTERS}${BLANKS}]--[ \t\n]]`, "v");

// Blanks beyond the need of any layout: the text after them would be out of a person's sight.
const PUSHED_AWAY = /[ \t]{60}|\t[ \t]{11}|\n(?:[ \t]*\n){3}/;
const MOST_LINES = 60;

/** Most characters of a command that a person is asked about; a chat's own limit may be lower. */
const MOST_READ = 3000;

/**
 * Reason why a person could not see the whole command; undefined when there is none. `paths` are shown with the
 * command. Pure.
 */
export function whyUnshowable(command: string, paths: readonly string[]): string | undefined {
  if (UNSEEN.test(command) || paths.some((path) => UNSEEN.test(path) || /[\n\t]/.test(path))) {
    return "it holds control or invisible characters; write them as escapes";
  }
  if (PUSHED_AWAY.test(command)) {
    return "long runs of blanks or empty lines hide a part of it; remove them";
  }
  if (command.split("\n").length > MOST_LINES) {
    return `it has more than ${MOST_LINES} lines; put it into a script file and run that`;
  }
  return command.length > MOST_READ
    ? `it has more than ${MOST_READ} characters; put it into a script file and run that`
    : undefined;
}
