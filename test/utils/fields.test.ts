import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameData } from "../../src/utils/fields.ts";

const data = fc.jsonValue({ maxDepth: 3 });

describe("isSameData", () => {
  it("agrees with Node's comparison on any two values of JSON", () => {
    fc.assert(
      fc.property(data, data, (a, b) => {
        expect(isSameData(a, b)).toBe(isDeepStrictEqual(a, b));
        expect(isSameData(a, structuredClone(a))).toBe(true);
      }),
    );
  });

  it("finds fields whose names all objects have", () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      const odd: unknown = JSON.parse(`{"${name}": {}}`);
      expect([isSameData(odd, {}), isSameData({}, odd), isSameData(odd, structuredClone(odd))], name).toEqual([
        false,
        false,
        true,
      ]);
    }
  });

  it("finds a change anywhere", () => {
    const was = { list: [{ name: "a", more: { deep: [1, 2] } }], text: "x" };
    expect(isSameData(was, { ...was, list: [{ name: "a", more: { deep: [1, 3] } }] })).toBe(false);
    expect(isSameData(was, { ...was, list: [] })).toBe(false);
    expect(isSameData(was, { ...was, added: 1 })).toBe(false);
    expect(isSameData({ ...was, added: 1 }, was)).toBe(false);
    expect(isSameData([], {})).toBe(false);
    expect(isSameData({}, [])).toBe(false);
    expect(isSameData(null, {})).toBe(false);
  });

  it("takes a field that is undefined for a missing one", () => {
    expect(isSameData({ a: 1, b: undefined }, { a: 1 })).toBe(true);
    expect(isSameData({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  });
});
