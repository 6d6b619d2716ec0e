import { expect, it } from "vitest";
import { runFacts } from "../kit/run-facts.ts";
import { RunRegistry } from "../../src/dispatch/run-registry.ts";
import { RunLog } from "../../src/harness/log/run-log.ts";
import type { RunEvent } from "../../src/types/run/events.ts";
import { runId } from "../../src/types/ids.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";
import { answered } from "../kit/transcript-messages.ts";
import { until } from "../kit/until.ts";

const idOf = (n: number) => runId(`run-${n}`);
const open = (n: number) => new RunLog(runFacts(idOf(n)));

function answer(log: RunLog): void {
  log.emit({ type: "message_start" });
  for (const text of ["a", "ab", "abc"]) log.emit({ type: "text_delta", delta: text.slice(-1), text });
  log.emit({ type: "message_end", message: answered("abc"), text: "abc", entryId: "e" });
  log.emit({ type: "tool_start", callId: "c", name: "exec", args: {} });
  log.emit({ type: "tool_end", callId: "c", name: "exec", isError: false, text: "x".repeat(50_000), durationMs: 1 });
  log.emit({
    type: "run_end",
    result: { kind: "replied", stop: "stop" },
    receipt: { model: { provider: "p", id: "m" }, usage: emptyUsage(), calls: 1, durationMs: 1 },
    endedAt: 1,
  });
}

it("names the run of a message after its end too, for the last thousand runs", async () => {
  const registry = new RunRegistry();
  const logs = Array.from({ length: 1001 }, (_, n) => new RunLog(runFacts(idOf(n), { turnId: `turn-${n}` })));
  for (const log of logs) registry.add(log, false);
  for (const log of logs) answer(log);
  await until(() => registry.running().length === 0);
  expect(registry.runOf("turn-0")).toBeUndefined();
  expect(registry.runOf("turn-1")).toBe(idOf(1));
  expect(registry.runOf("turn-1000")).toBe(idOf(1000));
});

it("keeps the last ended runs of clients with their texts alone, and every run that continues", async () => {
  const registry = new RunRegistry();
  const logs = Array.from({ length: 80 }, (_, n) => open(n));
  for (const log of logs) registry.add(log);
  for (const log of logs.slice(1)) answer(log);
  await until(() => registry.find(idOf(1)) === undefined);
  const found = logs.filter(({ facts }) => registry.find(facts.runId));
  expect(found.map(({ facts }) => facts.runId)).toEqual([idOf(0), ...logs.slice(30).map(({ facts }) => facts.runId)]);
  const events: RunEvent[] = [];
  for await (const event of registry.find(idOf(79))?.watch() ?? []) events.push(event);
  expect(events.map(({ type }) => type)).toEqual(["message_start", "text_delta", "message_end", "run_end"]);
  expect(events.find(({ type }) => type === "message_end")).toMatchObject({ text: "abc" });
});

it("counts the runs that have begun and not ended, also those that are in no lane", async () => {
  const registry = new RunRegistry();
  const [waiting, begun, ended] = [open(1), open(2), open(3)];
  for (const log of [waiting, begun, ended]) registry.add(log);
  begun.emit({ type: "message_start" });
  answer(ended);
  await until(() => registry.running().length === 2);
  expect(registry.active).toBe(1);
});
