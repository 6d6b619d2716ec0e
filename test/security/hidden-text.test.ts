import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { whyUnshowable } from "../../src/tools/exec/hidden.ts";

/** A character of a class, picked among all code points. */
function charactersOf(property: RegExp): readonly string[] {
  const found: string[] = [];
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const char = String.fromCodePoint(code);
    if (property.test(char)) found.push(char);
  }
  return found;
}

const isRefused = (command: string) => whyUnshowable(command, ["/w"]) !== undefined;

describe("a command that a person is asked about", () => {
  it.each([
    ["is ignored by default", /^\p{Default_Ignorable_Code_Point}$/u],
    ["is for formatting", /^\p{Cf}$/u],
    ["controls", /^(?![\t\n])\p{Cc}$/u],
    ["turns the direction of writing", /^\p{Bidi_Control}$/u],
    ["is white space but no plain blank", /^(?![ \t\n])\p{White_Space}$/u],
    ["is one half of a pair", /^\p{Cs}$/u],
    ["is private", /^\p{Co}$/u],
    ["is blank without being white space", /^[\u2800\u{1d159}\u{16fe4}]$/u],
  ])("holds nothing that %s", (_what, property) => {
    const all = charactersOf(property);
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter((char) => !isRefused(`cat a${char}b`))).toEqual([]);
    expect(all.filter((char) => whyUnshowable("ls", [`/w/a${char}b`]) === undefined)).toEqual([]);
  });

  it("may contain what people read: letters of all scripts, marks, digits, signs and emoji", () => {
    const all = charactersOf(/^[\p{L}\p{Nd}\p{P}\p{Sc}\p{Sm}]$/u).filter(isNoFiller);
    const readable = fc.nat({ max: all.length - 1 }).map((at) => all[at]!);
    fc.assert(fc.property(fc.string({ unit: readable, minLength: 1, maxLength: 50 }), (text) => !isRefused(text)));
    expect(isRefused("echo 'größer 日本語 العربية हिन्दी 🚀'")).toBe(false);
  });

  it("holds no run of blanks or empty lines that pushes a part of it out of sight", () => {
    const blanks = fc.string({ unit: fc.constantFrom(" ", "\t"), minLength: 60, maxLength: 400 });
    fc.assert(fc.property(blanks, (run) => isRefused(`ls${run}; rm x`)));
    const lines = fc.array(fc.stringMatching(/^[ \t]{0,20}$/), { minLength: 3, maxLength: 40 });
    fc.assert(fc.property(lines, (empty) => isRefused(`ls\n${empty.join("\n")}\nrm x`)));
    expect(isRefused(Array.from({ length: 50 }, () => "\n".repeat(11)).join("x"))).toBe(true);
  });

  it("has no more lines and characters than a person reads", () => {
    fc.assert(fc.property(fc.integer({ min: 61, max: 500 }), (lines) => isRefused("ls\n".repeat(lines))));
    fc.assert(fc.property(fc.integer({ min: 3001, max: 9000 }), (length) => isRefused(`echo ${"x".repeat(length)}`)));
    expect(isRefused("for f in *; do\n    echo $f\n\n    cat $f\ndone\n")).toBe(false);
  });
});

/** Letters that Unicode itself calls blank: Hangul fillers. */
const isNoFiller = (char: string) => !/\p{Default_Ignorable_Code_Point}/u.test(char);
