import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

const names = z.record(z.string(), z.string()).default({});
const manifest = z.object({ dependencies: names, devDependencies: names, optionalDependencies: names });

function namedIn(file: string): readonly string[] {
  const { dependencies, devDependencies, optionalDependencies } = manifest.parse(JSON.parse(read(file)));
  return [dependencies, devDependencies, optionalDependencies].flatMap((all) => Object.keys(all));
}

/** The rows of the tables below one heading, as cells. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, part = ""] = read("docs/reference/dependencies.md").split(`\n## ${heading}\n`);
  const lines = (part.split("\n## ", 1)[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("docs/reference/dependencies.md has a row for each direct dependency, and no other", () => {
  const rows = rowsBelow("Each direct dependency");
  const told = rows.map(([name = ""]) => name.replaceAll("`", ""));
  expect(told.toSorted()).toEqual([...namedIn("package.json"), ...namedIn("runtime/older/package.json")].toSorted());
  for (const row of rows) {
    expect(row, row[0]).toHaveLength(7);
    expect(
      row.every((cell) => cell !== ""),
      row[0],
    ).toBe(true);
  }
});

test("each direct dependency has an exact version", () => {
  const all = [read("package.json"), read("runtime/older/package.json")].map((text) =>
    manifest.parse(JSON.parse(text)),
  );
  const versions = all.flatMap((one) =>
    Object.entries({ ...one.dependencies, ...one.devDependencies, ...one.optionalDependencies }),
  );
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
});
