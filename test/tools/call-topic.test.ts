import fc from "fast-check";
import { expect, it } from "vitest";
import { callTopic } from "../../src/tools/call-topic.ts";

it.each([
  ["read", { path: "src/a.ts", offset: 3 }, "src/a.ts"],
  ["exec", { command: "make\n\ttest", cwd: "/x" }, "make test"],
  ["grep", { pattern: "TODO", path: "src" }, "TODO · src"],
  ["grep", { pattern: "TODO" }, "TODO"],
  ["message", { action: "send", to: "7", text: "private words" }, "send · 7"],
  ["weather_of_a_plugin", { query: "Vienna", units: "c" }, "Vienna"],
  ["constructor", { path: "" }, undefined],
  ["other", { flag: true }, undefined],
])("says what a call of %s is about", (tool, args, topic) => {
  expect(callTopic(tool, args)).toBe(topic);
});

it("is one short line, whatever the arguments hold", () => {
  const args = fc.dictionary(fc.constantFrom("path", "command", "pattern", "to", "x"), fc.anything());
  fc.assert(
    fc.property(fc.constantFrom("read", "grep", "message", "x"), args, (tool, given) => {
      const topic = callTopic(tool, given) ?? "";
      expect(topic.length).toBeLessThanOrEqual(160);
      expect(topic).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(topic.isWellFormed()).toBe(true);
    }),
  );
  const long = callTopic("exec", { command: `head ${"x".repeat(1_000_000)}` });
  expect(long).toMatch(/^head x+…x+$/);
});
