import { expect, it } from "vitest";
import { liveLines } from "../../../src/dispatch/turn/live-state.ts";
import { RunLog } from "../../../src/harness/log/run-log.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";
import type { Approval } from "../../../src/types/run/tool.ts";

const KEY = sessionKey("telegram:default:7");
const approval = (key: string, command: string): Approval => ({
  id: "abc234",
  sessionKey: sessionKey(key),
  runId: runId("run-1"),
  agentId: agentId("main"),
  command,
  cwd: "/w",
  reason: "ask",
  createdAt: 1,
  expiresAt: 2,
});
const run = (key: string) => ({
  stream: new RunLog({
    runId: runId("run-2"),
    sessionKey: sessionKey(key),
    sessionId: "s",
    agentId: agentId("main"),
    trigger: "subagent",
  }),
});

it("lists a session's own questions and its subagents, and no others", () => {
  const approvals = [
    approval(KEY, "rm -r\n  build"),
    approval(`${KEY}::main:1`, "make"),
    approval("telegram:default:70", "reboot"),
  ];
  const runs = [run(KEY), run(`${KEY}::main:1`), run("telegram:default:70::main:1")];
  expect(liveLines(KEY, { approvals, runs })).toEqual([
    "Waits for an owner's answer (abc234): rm -r build",
    "Waits for an owner's answer (abc234): make",
    "Still at work: subagent main:1 (run run-2)",
  ]);
});

it("keeps each to one line of bounded length", () => {
  const [line] = liveLines(KEY, { approvals: [approval(KEY, "x\n".repeat(1000))], runs: [] });
  expect(line?.length).toBeLessThan(300);
  expect(line).not.toContain("\n");
});

it("names a subagent by its session's row, where the key does not say whose it is", () => {
  const runs = [run("agent:main:subagent:5d1f"), run("agent:main:subagent:other")];
  const spawnerOf = (key: string) => (key.endsWith("5d1f") ? KEY : "somebody else");
  expect(liveLines(KEY, { approvals: [], runs, spawnerOf })).toEqual([
    "Still at work: subagent agent:main:subagent:5d1f (run run-2)",
  ]);
});
