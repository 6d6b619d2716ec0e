import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

const script = join(import.meta.dirname, "../../scripts/join-chunks.mjs");

interface Output {
  readonly bytes: number;
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

interface Joining {
  partsOf(outputs: Record<string, Output>, read: (file: string) => string, entry: string): Map<string, string>;
  readParts(text: string, homes: ReadonlyMap<string, string>, folder: string): string;
}

let joining: Joining;
beforeAll(async () => {
  joining = (await import(pathToFileURL(script).href)) as Joining;
});

const chunk = (name: string): string => `dist/chunks/chunk-${name}.js`;
const file = (bytes: number, ...imported: readonly string[]): Output => ({
  bytes,
  imports: imported.map((name) => ({ path: chunk(name), kind: "import-statement" })),
});

const SMALL = 500;
const LARGE = 50_000;
const GATEWAY = "dist/chunks/run-1.js";

const outputs: Record<string, Output> = {
  [GATEWAY]: file(LARGE, "LEAF", "ZOD", "BOTH", "USER", "TWO"),
  "dist/main.js": file(SMALL, "LEAF"),
  [chunk("LEAF")]: file(SMALL, "LEAF2"),
  [chunk("LEAF2")]: file(SMALL),
  [chunk("ZOD")]: file(LARGE, "LEAF2"),
  [chunk("BIG")]: file(LARGE),
  [chunk("BOTH")]: file(LARGE, "BIG", "ZOD"),
  [chunk("USER")]: file(SMALL, "ZOD", "LEAF"),
  [chunk("TWO")]: file(SMALL, "USER", "BIG", "BOTH"),
  [chunk("APART")]: file(SMALL, "BIG", "ZOD"),
  [chunk("CJS")]: file(SMALL),
};
const read = (name: string): string => (name.includes("CJS") ? "var x=require('y')" : "");

describe("small files of the build", () => {
  it("become parts of what whoever loads them loads anyway", () => {
    const homes = joining.partsOf(outputs, read, GATEWAY);
    expect(Object.fromEntries(homes)).toEqual({
      [chunk("LEAF")]: "joined.js",
      [chunk("LEAF2")]: "joined.js",
      [chunk("USER")]: "chunk-ZOD.js",
      // Who loads BOTH loads all that TWO needs, and so does who loads TWO.
      [chunk("TWO")]: "chunk-BOTH.js",
      // Neither BIG nor ZOD loads the other one. BOTH loads both, but not everybody who loads APART loads BOTH.
    });
  });

  it("do not move once another file is a part of them", () => {
    const graph = fc.array(fc.record({ isSmall: fc.boolean(), imported: fc.array(fc.nat(), { maxLength: 3 }) }), {
      minLength: 2,
      maxLength: 9,
    });
    fc.assert(
      fc.property(graph, (files) => {
        const nameOf = (index: number) => `F${index}`;
        // A file imports only later ones.
        const below = (index: number, one: number) => index + 1 + (one % (files.length - index - 1));
        const made = files.map(({ isSmall, imported }, index): [string, Output] => {
          const others = index === files.length - 1 ? [] : imported.map((one) => nameOf(below(index, one)));
          return [chunk(nameOf(index)), file(isSmall ? SMALL : LARGE, ...new Set(others))];
        });
        const all = { ...Object.fromEntries(made), [GATEWAY]: file(LARGE, ...files.keys().map(nameOf)) };
        const homes = joining.partsOf(all, () => "", GATEWAY);
        const moved = [...homes.keys()].map((name) => name.split("/").at(-1));
        expect([...homes.values()].filter((home) => moved.includes(home))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are imported from where they are, in front of a text that is as long as before", () => {
    const homes = joining.partsOf(outputs, read, GATEWAY);
    const text =
      'import{a as b,c}from"./chunk-LEAF.js";import{z}from"./chunk-ZOD.js";import{u}from"./chunk-USER.js";b(c,z,u);';
    const made = joining.readParts(text, homes, "");
    const front =
      'import{chunk_LEAF_a as b,chunk_LEAF_c as c}from"./joined.js";import{chunk_USER_u as u}from"./chunk-ZOD.js";';
    expect(made.startsWith(front)).toBe(true);
    const rest = made.slice(front.length);
    expect(rest).toHaveLength(text.length);
    expect(rest.replace(/ +/g, " ").trim()).toBe('import{z}from"./chunk-ZOD.js"; b(c,z,u);');
  });

  it("are found from another folder, and an import of another form is an error", () => {
    const homes = joining.partsOf(outputs, read, GATEWAY);
    expect(joining.readParts('import"../chunks/chunk-LEAF.js";', homes, "../chunks")).toMatch(
      /^import"\.\.\/chunks\/joined\.js";/,
    );
    expect(() => joining.readParts('export*from"./chunk-LEAF.js";', homes, "")).toThrow(
      "chunk-LEAF.js is not written as expected",
    );
  });
});
