// What a screen does not show, shows elsewhere or lets run over something else: control characters but tab and line
// feed, marks of writing direction, characters without width, blank letters, tags.
const UNSEEN =
  /[[\p{Cc}\p{Bidi_Control}\u00ad\u115f\u1160\u180e\u200b\u2028\u2029\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]--[\t\n]]/v;

// Far more than any layout needs: what follows would stand outside of what a person looks at.
const PUSHED_AWAY = /[ \t\u00a0\u2000-\u200a\u3000]{100}|(?:\n[ \t]*){12}/u;

/** Characters of a command that a person can be asked about. */
const MOST_READ = 8000;

/** Why a person who is asked would not see what runs; undefined when they would. Pure. */
export function whyUnreadable(command: string, cwd: string): string | undefined {
  if (UNSEEN.test(command) || UNSEEN.test(cwd) || cwd.includes("\n")) {
    return "it holds control or invisible characters; write them as escapes";
  }
  if (PUSHED_AWAY.test(command)) {
    return "long runs of blanks hide a part of it; take them out";
  }
  return command.length > MOST_READ
    ? `it has more than ${MOST_READ} characters; put it into a script file and run that`
    : undefined;
}
