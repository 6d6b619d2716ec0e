import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { answerHook } from "../../../../src/app/gateway/hooks/hook-requests.ts";
import { hooksConfig } from "../../../../src/automation/hooks/config.ts";
import { HookDesk } from "../../../../src/automation/hooks/desk.ts";
import { manualClock } from "../../../kit/clock.ts";
import { recordLog } from "../../../kit/log.ts";
import { until } from "../../../kit/until.ts";

const TOKEN = "a-token-of-the-hooks-that-is-long-enough";

test("a transform that fails after its time is logged twice: as late, and with its error", async () => {
  const dir = mkdtempSync(join(tmpdir(), "transforms-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const code = `export default () => new Promise((_, reject) => { globalThis.failTransform = reject; });`;
  writeFileSync(join(dir, "slow.mjs"), code);
  const clock = manualClock();
  const log = recordLog();
  const config = hooksConfig.parse({
    enabled: true,
    token: TOKEN,
    mappings: [{ id: "slow", match: { path: "slow" }, transform: { module: "slow.mjs" }, messageTemplate: "x" }],
  });
  const desk = new HookDesk({
    clock,
    journal: {
      inbox: { find: async () => undefined, changes: async function* () {} },
      outbox: { of: async () => [] },
    },
    config: () => config,
    placeOf: async () => "no place",
    receive: async () => undefined,
    signal: new AbortController().signal,
  });
  const request = {
    name: "slow",
    method: "POST",
    isLocked: false,
    headers: { authorization: `Bearer ${TOKEN}` },
    query: {},
    body: Buffer.from("{}"),
  };
  const ports = { desk, clock, log, config: () => config, hasAgent: () => true };
  const answered = answerHook(request, { ...ports, transforms: { clock, dir: () => dir } });
  await until(() => Reflect.has(globalThis, "failTransform") && clock.waits.length > 0);
  clock.pass(10_000);
  expect((await answered).status).toBe(500);
  const fail: unknown = Reflect.get(globalThis, "failTransform");
  Reflect.deleteProperty(globalThis, "failTransform");
  if (typeof fail === "function") fail(new Error("too late"));
  await until(() => log.lines.length > 1);
  expect(log.lines).toEqual([
    'error a transform of a hook failed: "it took longer than 10 seconds"',
    "error a transform of a hook failed: too late",
  ]);
});
