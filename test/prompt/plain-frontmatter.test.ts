import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { readPlain } from "../../src/prompt/skills/plain-frontmatter.ts";

const byYaml = (block: string): unknown => {
  const document = parseDocument(block, { schema: "failsafe" });
  return document.errors.length > 0 ? undefined : document.toJS();
};

describe("frontmatter that needs no YAML parser", () => {
  it.each([
    ["texts", 'name: notes\ndescription: Keep notes (or lists), "quoted" too: no', undefined],
    ["texts with quotes inside", 'name: notes\ndescription: Use for "tl;dr", it\'s short.', "same"],
    ["JSON over lines", 'name: a-b\nmetadata:\n  { "openclaw": { "events": ["a", "b"] } }', "same"],
    ["JSON with a comma at its end", 'name: a-b\nmetadata: { "a,}": ["b,]", "c",], }', "same"],
    ["JSON with two commas", 'name: a-b\nmetadata: { "a": ["b",,] }', undefined],
    ["a list of a comma", "name: [,]", undefined],
    ["a text below its key", "name:\n  ab", undefined],
    ["JSON that begins beside its key", 'name: a-b\nmetadata: { "openclaw":\n    { "events": ["a", "b"] } }', "same"],
    ["a quoted text", 'name: "a: b # c"', "same"],
    ["a number in JSON", 'name: ab\nmetadata: { "n": 1.0 }', undefined],
    ["a comment", "name: ab # c", undefined],
    ["a key twice", "name: ab\nname: cd", undefined],
    ["a list", "name:\n  - a", undefined],
    ["an anchor", "name: &a b", undefined],
    ["a block text", "name: |\n  a", undefined],
  ])("reads %s as YAML does, or leaves it to the parser", (_, block, expected) => {
    const read = readPlain(block);
    if (expected === "same") expect(read).toEqual(byYaml(block));
    else expect(read).toBeUndefined();
  });

  it("never reads anything else than the parser does", () => {
    const word = fc.constantFrom(
      "a",
      "name",
      ": ",
      " #",
      "#",
      ":",
      "-",
      "- ",
      "  ",
      "\n",
      "\n  ",
      '"',
      "'",
      "{",
      "}",
      "[",
      "]",
      ",",
      "true",
      "1.0",
      "\t",
      "(",
      "|",
      ">",
      "&",
      "*",
      "é",
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("name", "x-y", "b"), fc.array(word, { maxLength: 8 })), { maxLength: 4 }),
        (rows) => {
          const block = rows.map(([key, words]) => `${key}: ${words.join("")}`).join("\n");
          const read = readPlain(block);
          if (read !== undefined) expect(read).toEqual(byYaml(block));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("reads JSON of texts as the parser does", () => {
    const leaf = fc.string({ unit: "grapheme", maxLength: 12 });
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        leaf,
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie("node"), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(tree, fc.boolean(), (value, isBelow) => {
        const block = `name: notes\nmetadata:${isBelow ? "\n  " : " "}${JSON.stringify(value)}`;
        const read = readPlain(block);
        if (read !== undefined) expect(read).toEqual(byYaml(block));
      }),
    );
  });
});
