import { expect, test } from "vitest";
import { RunningCode } from "../../src/plugins/api/running-code.ts";
import { StrayErrors } from "../../src/plugins/host/stray-errors.ts";
import { PluginWatch } from "../../src/plugins/api/watch.ts";
import { noGuard } from "../../src/plugins/trial/guard.ts";
import { recordLog } from "../kit/log.ts";

const log = recordLog();
const watch = new PluginWatch(log);
const one = new RunningCode("one", "/plugins/one");
const two = new RunningCode("two", "/plugins/two words");
const errors = new StrayErrors({ watch, guard: noGuard, codes: () => [one, two], ownRoot: "/opt/gateway" });

function withStack(message: string, ...frames: string[]): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

const OWN = "run (file:///opt/gateway/dist/a.js:1:1)";
const NODE = "node:internal/process/task_queues:151:7";

test.each([
  ["thrown by a module", withStack("x", NODE, "file:///plugins/one/index.js:1:1"), "one"],
  ["thrown by a script", withStack("x", "Object.<anonymous> (/plugins/one/index.cjs:1:1)"), "one"],
  ["of a folder with a space", withStack("x", "async f (file:///plugins/two%20words/a.js:1:1)"), "two"],
  [
    "of what its code evaluated",
    withStack("x", "eval (eval at f (file:///plugins/one/a.js:1:1), <anonymous>:1:7)"),
    "one",
  ],
  ["of the gateway's code that it called", withStack("x", OWN, "file:///plugins/one/a.js:1:1"), "one"],
  [
    "of a plugin that called another",
    withStack("x", "file:///plugins/one/a.js:1:1", "file:///plugins/two%20words/a.js:1:1"),
    "one",
  ],
  ["with the cause of it", new Error("outer", { cause: withStack("x", "file:///plugins/one/a.js:1:1") }), "one"],
  ["whose message names a plugin", withStack("x\n    at f (file:///plugins/one/a.js:1:1)", OWN), undefined],
  ["in a folder whose name only begins alike", withStack("x", "file:///plugins/one-more/a.js:1:1"), undefined],
  ["without a stack", "text", undefined],
])("an error %s is the right plugin's", (_what, error, owner) => {
  expect(errors.ownerOf(error)).toBe(owner);
});

test("an error without any code in its stack is the plugin's that works right now, one of the gateway's code is not", () => {
  watch.inside(two, () => {
    for (const error of [undefined, "text", withStack("connect ECONNREFUSED", NODE)])
      expect(errors.ownerOf(error)).toBe("two");
    expect(errors.ownerOf(withStack("a bug", OWN))).toBeUndefined();
    expect(errors.ownerOf(withStack("x", "file:///plugins/one/a.js:1:1"))).toBe("one");
  });
});

test("rejected promises of a plugin are counted and logged once a minute, those of the gateway are left", () => {
  expect(errors.takeRejection(withStack("a bug", OWN))).toBe(false);
  for (let count = 0; count < 3; count++)
    expect(errors.takeRejection(withStack("stray", "file:///plugins/one/a.js:1:1"))).toBe(true);
  expect(watch.costOf("one")).toMatchObject({ failed: 3, lastError: "a promise that nobody awaits: stray" });
  expect(log.lines).toEqual(["error plugin failed: stray"]);
});
