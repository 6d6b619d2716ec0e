import { agentId, runId, sessionKey } from "../../src/types/ids.ts";
import type { RunFacts } from "../../src/types/run/run.ts";

/** The facts of a run of the agent `main` that answers a message. */
export const runFacts = (id: string, more: Partial<RunFacts> = {}): RunFacts => ({
  runId: runId(id),
  sessionKey: sessionKey("telegram:default:1"),
  sessionId: "session-1",
  agentId: agentId("main"),
  trigger: "message",
  ...more,
});
