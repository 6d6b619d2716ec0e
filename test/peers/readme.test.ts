import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const rows = [
  ...readFileSync(join(import.meta.dirname, "README.md"), "utf8").matchAll(/^\| (.+) \| `(.+)` \| (.+) \|$/gm),
].map(([, defect = "", file = "", title = ""]) => ({ defect, file, title }));

/** The titles of the tests in a file, as they are written there. */
function titlesIn(file: string): readonly string[] {
  if (!existsSync(join(root, file))) return [];
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/\(\s*"((?:[^"\\\n]|\\.)+)",\s*(?:\{[^}\n]*\},\s*)?(?:async )?\(/g)].map(
    ([, title = ""]) => title,
  );
}

test("the table of defects is read", () => expect(rows.length).toBeGreaterThan(20));

test.each(rows)("the test is there that shows: $defect", ({ file, title }) => {
  expect(titlesIn(file)).toContain(title);
});
