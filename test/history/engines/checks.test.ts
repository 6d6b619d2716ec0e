import { describe, expect, it } from "vitest";
import { engineChecks } from "../../../src/history/engines/checks.ts";
import { TestClock } from "../../kit/engine.ts";
import { RecordingEngine } from "./recording-engine.ts";

describe("openclaw doctor", () => {
  const look = (id: string, runs: readonly { receipt: { engine: string; engineDegraded?: string } }[] = []) => {
    const opening = {
      engines: {
        get: (name: string) => (name === "recording" ? Promise.resolve(() => new RecordingEngine()) : undefined),
      },
      context: {},
      clock: new TestClock(),
      ms: 1000,
    };
    const [check] = engineChecks(id, opening, { latest: async () => runs });
    return check?.run(new AbortController().signal);
  };

  it("says how often the engine was skipped of late, and why the last time", async () => {
    const runs = ["", "boom", "", "slow"].map((why) => ({
      receipt: { engine: "recording", ...(why && { engineDegraded: `passed by: ${why}` }) },
    }));
    const others = [{ receipt: { engine: "legacy" } }, { receipt: { engine: "other", engineDegraded: "theirs" } }];
    const found = await look("recording", [...others, ...runs]);
    expect(found).toMatchObject([
      { status: "ok" },
      { status: "warn", message: expect.stringMatching(/In 2 of its last 4 runs .*boom/) },
    ]);
    expect(await look("recording", others)).toMatchObject([{ status: "ok" }]);
  });

  it("says which engine is used, and what is wrong with it", async () => {
    expect(await look("legacy")).toMatchObject([{ status: "ok" }]);
    expect(await look("recording")).toMatchObject([{ status: "ok", message: expect.stringContaining("Recording") }]);
    expect(await look("gone")).toMatchObject([{ status: "fail", fix: expect.stringContaining("legacy") }]);
  });
});
