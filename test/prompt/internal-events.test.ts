import { describe, expect, it } from "vitest";
import { isVolatile } from "../../src/prompt/internal-events.ts";
import type { AgentInternalEvent } from "../../src/types/engine/internal-event.ts";

const EVENT: AgentInternalEvent = {
  type: "task_completion",
  source: "subagent",
  childSessionKey: "main::coder:1",
  childSessionId: "abc",
  announceType: "subagent task",
  taskLabel: "run the tests",
  status: "ok",
  statusLabel: "completed successfully",
  result: "All green.",
  mediaUrls: ["file:///tmp/a.png"],
  statsLine: "Stats: 3s",
  replyInstruction: "Tell the user in your own words.",
};

describe("a prompt that stays out of the transcript", () => {
  const announced = { kind: "inter_session", sourceTool: "subagent_announce" } as const;
  it("is a subagent's announcement, and nothing else", () => {
    expect(isVolatile({ provenance: announced, internalEvents: [EVENT] })).toBe(true);
    const others = [
      {},
      { provenance: announced },
      { provenance: announced, internalEvents: [] },
      { provenance: announced, internalEvents: [{ ...EVENT, source: "cron" }] },
      { provenance: { ...announced, sourceTool: "sessions_send" }, internalEvents: [EVENT] },
      { provenance: { ...announced, kind: "internal_system" as const }, internalEvents: [EVENT] },
      { internalEvents: [EVENT] },
    ];
    expect(others.map(isVolatile)).toEqual(others.map(() => false));
  });
});
