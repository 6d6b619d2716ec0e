import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BUILT_IN_TOOLS } from "../../src/tools/policy/lint.ts";
import { configSchema } from "../../src/app/config/schema/schema.ts";
import { builtInTools } from "../../scripts/docs/built-in-tools.ts";
import { toolTable } from "../../scripts/docs/tool-table.ts";

const table = toolTable(builtInTools(configSchema.parse({}).browser));

it("has the tools that lists of the config are compared with", () => {
  const names = builtInTools(configSchema.parse({}).browser).map(({ name }) => name);
  expect(BUILT_IN_TOOLS.toSorted()).toEqual(names.toSorted());
});

it("is the page of the documentation", () => {
  expect(readFileSync(join(import.meta.dirname, "../../docs/tools.md"), "utf8")).toBe(table);
});

it("says who has a tool, its other names, and which parameters it needs", () => {
  const row = (name: string) => table.split("\n").find((line) => line.startsWith(`| \`${name}\``));
  expect(row("gateway")).toMatch(/`group:automation` .* owners .*`action`\*, `path`,/);
  expect(row("update_plan")).toMatch(/`progress_card` .* coding /);
  expect(row("session_status")).toContain("minimal, coding, messaging");
});

it("keeps the schemas of the coding profile below 4,000 tokens", () => {
  const [, tokens] = /`coding` (\d+)/.exec(table) ?? [];
  expect(Number(tokens)).toBeGreaterThan(500);
  expect(Number(tokens)).toBeLessThanOrEqual(4000);
});

it("has the same schema objects for each run: they are compared instead of made into JSON again", () => {
  const [first, second] = [1, 2].map(() => builtInTools(configSchema.parse({}).browser));
  const changed = first?.filter(({ schema }, at) => schema !== second?.[at]?.schema).map(({ name }) => name);
  // Each search of the web has its own, which it makes once.
  expect(changed).toEqual(["web_search"]);
});
