import { expect, test } from "vitest";
import { BoundedMap } from "../../src/utils/bounded-map.ts";

test("one entry more than the limit removes the one that was set longest ago", () => {
  const map = new BoundedMap<string, number>(2);
  for (const [at, key] of ["a", "b", "a", "c"].entries()) map.set(key, at);
  expect([...map]).toEqual([
    ["a", 2],
    ["c", 3],
  ]);
  expect([...new BoundedMap(1, map)]).toEqual([["c", 3]]);
});
