import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asWritten, withFormulas, withoutFormulas } from "../../extensions/webchat/page/markdown/formulas.ts";
import { withNoteMarks, withoutFootnotes } from "../../extensions/webchat/page/markdown/footnotes.ts";
import { highlighted } from "../../extensions/webchat/page/markdown/highlight.ts";
import { hitsIn, saidMessages } from "../../extensions/webchat/page/model/find.ts";

const LANGUAGES = [
  "ts",
  "python",
  "bash",
  "json",
  "yaml",
  "toml",
  "html",
  "css",
  "sql",
  "go",
  "rust",
  "ruby",
  "php",
  "diff",
  "x",
];
/** Signs that begin and end strings, comments and names. */
const code = fc.array(
  fc.constantFrom(
    "if",
    "x1",
    "0x1f",
    '"',
    "'",
    "`",
    "#",
    "//",
    "/*",
    "*/",
    "<!--",
    "$a",
    "\n",
    " ",
    "=",
    ":",
    "\\",
    "-",
    "+",
  ),
  {
    maxLength: 40,
  },
);

describe("the colours of code", () => {
  test("change no character of it, whatever it is", () => {
    fc.assert(
      fc.property(code, fc.constantFrom(...LANGUAGES), (parts, language) => {
        const text = parts.join("");
        expect(
          highlighted(text, language)
            .map((piece) => piece.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });

  test("come in linear time, whatever the code repeats", () => {
    for (const language of ["yaml", "toml", "css", "html", "bash"])
      for (const part of ["-", "- ", " ", "a:", "a-a:", "=", "[", "<"])
        expect(highlighted(part.repeat(39_000 / part.length), language).length).toBeGreaterThan(0);
  });

  test("tell keywords, strings, comments, numbers and names apart", () => {
    const kinds = (text: string, language: string) =>
      highlighted(text, language).flatMap((piece) => (piece.kind === undefined ? [] : [`${piece.kind} ${piece.text}`]));
    expect(kinds('const a = "if // x"; // let 5', "ts title=a.ts")).toEqual([
      "keyword const",
      'string "if // x"',
      "comment // let 5",
    ]);
    expect(kinds('def f(x): return 0x1F # it\'s "so"', "Python")).toEqual([
      "keyword def",
      "keyword return",
      "number 0x1F",
      'comment # it\'s "so"',
    ]);
    expect(kinds('{"a": "b", "c": [1.5, true]}', "json")).toEqual([
      'name "a"',
      'string "b"',
      'name "c"',
      "number 1.5",
      "keyword true",
    ]);
    expect(kinds("SELECT 'it' from t -- all", "sql")).toEqual([
      "keyword SELECT",
      "string 'it'",
      "keyword from",
      "comment -- all",
    ]);
    expect(kinds("+ a\n- b\n c", "diff")).toEqual(["string + a\n", "keyword - b\n"]);
    expect(kinds("if x", "no-language")).toEqual([]);
  });
});

describe("footnotes", () => {
  test("stand apart from the text, with their further lines, and not in code", () => {
    const text = "One[^1] and[^b].\n\n[^1]: A *note*\n    with more\n[^b]: https://x.org\nText\n```\n[^1]: code\n```";
    const { body, notes } = withoutFootnotes(text);
    expect(body).toBe("One[^1] and[^b].\n\nText\n```\n[^1]: code\n```");
    expect(notes).toEqual([
      { name: "1", text: "A *note*\nwith more" },
      { name: "b", text: "https://x.org" },
    ]);
    expect(withNoteMarks("One[^1] and[^b], not[^c].", notes)).toEqual(["One", 0, " and", 1, ", not", "[^c]", "."]);
  });
});

describe("the search in a conversation", () => {
  test("finds words whatever their case and the marks around them, and not in results of tools", () => {
    const message = (id: string, role: string, text: string) => ({
      role,
      content: [{ type: "text", text }],
      __openclaw: { id, seq: 1 },
    });
    const said = saidMessages([
      message("a", "user", "The BIG\nfish"),
      message("b", "assistant", "A **big** `fish`"),
      message("c", "toolResult", "a big fish"),
      message("d", "assistant", "small fish"),
    ]);
    expect(hitsIn(said, " big fish ")).toEqual(["a", "b"]);
    expect(hitsIn(said, " ")).toEqual([]);
  });
});

describe("formulas", () => {
  const texOf = (text: string): readonly string[] => withoutFormulas(text).formulas.map(({ tex }) => tex);

  test.each([
    ["$a+b$ and \\(c\\)", ["a+b", "c"]],
    ["$$\na\n$$ \\[b\\]", ["a", "b"]],
    ["$5 and $6, $7-$8, US$9 and 10$", []],
    ["`$a$` and ``$b ` c$``", []],
    ["~~~\n$a$\n```\n~~~\n$b$", ["b"]],
    ["\\$a$ and $ b$ and $c $", []],
    ["$a\nb$ and $$c\n\nd$$", []],
    [`$${"x".repeat(5000)}$`, []],
  ])("in %j", (text, formulas) => {
    expect(texOf(text)).toEqual(formulas);
  });

  test("are limited in number and length, so that drawing them ends", () => {
    const many = "$x$ ".repeat(20_000);
    const long = `$${"\\frac{a}{b}+".repeat(300)}c$ `.repeat(40);
    for (const text of [many, long, `${many}\n\`\`\`\n\`\`\`\n`.repeat(3)]) {
      const { body, formulas } = withoutFormulas(text);
      expect(formulas.length).toBeLessThanOrEqual(500);
      expect(formulas.map(({ tex }) => tex).join("").length).toBeLessThanOrEqual(20_000);
      expect(asWritten(body, formulas)).toBe(text);
    }
  });

  test("any text is itself again with its formulas as they were written, in linear time", () => {
    const signs = fc.array(
      fc.constantFrom("$", "$$", "\\(", "\\)", "\\[", "\\]", "`", "```", "\n", " ", "a", "1", "\uE0001"),
    );
    fc.assert(
      fc.property(signs, (some) => {
        const text = some.join("");
        const { body, formulas } = withoutFormulas(text);
        expect(formulas.length === 0 ? body : asWritten(body, formulas)).toBe(text);
        expect(withFormulas(body).filter((piece) => typeof piece === "number" && piece >= formulas.length)).toEqual([]);
      }),
    );
    for (const part of ["$", "\\(", "\\[", "$$a", "`$", "\\[a\\)"]) withoutFormulas(part.repeat(100_000));
  });
});
