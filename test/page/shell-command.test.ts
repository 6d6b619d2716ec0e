import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { shellCommand } from "../../extensions/webchat/page/model/format.ts";

/** What a shell makes of the words of a command that the page offers to copy. */
function wordsOf(words: readonly string[]): readonly string[] {
  const command = shellCommand(String.raw`printf '%s\0'`, words);
  return execFileSync("sh", ["-c", command], { encoding: "utf8", cwd: import.meta.dirname })
    .split("\0")
    .slice(0, -1);
}

test.each([
  "plain",
  "memory/2026-09-01.md:12",
  "@scope/name@1.2.3",
  "two words",
  "  spaces around  ",
  "",
  "'",
  "it's 'quoted'",
  String.raw`\'\''\\`,
  'a "double" quote',
  "$(touch pwned)",
  "`touch pwned`",
  "$HOME ${HOME} $$",
  "a; touch pwned",
  "a && touch pwned | cat > pwned &",
  "first\nsecond\n",
  "\n",
  "tab\there",
  "-rf",
  "--force",
  "-",
  "=ls",
  "~",
  "~root",
  "*",
  "[a-z]*.ts ?",
  "{a,b}",
  "# no remark",
  "!!",
  "NAME=value",
  String.raw`back\slash\n`,
  "<in >out",
  "ä ö ü – 猫 🐈",
  "\u001B[31mred",
])("a copied command has the word %j as it was", (word) => {
  expect(wordsOf([word])).toEqual([word]);
});

test("several words stay apart, whatever is in them", () => {
  const word = fc.string({ unit: fc.constantFrom(..."a1 -'\"\\$()`;&|<>*?~#=!{}[]\n\t") });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      expect(wordsOf(words)).toEqual(words);
    }),
    { numRuns: 40 },
  );
});
