import { describe, expect, it } from "vitest";
import { engineChecks } from "../../../src/history/engines/checks.ts";
import { prepareSubagentSpawn, tellSubagentEnded } from "../../../src/history/engines/subagents.ts";
import type { ContextEngine } from "../../../src/types/engine/context-engine.ts";
import { RecordingEngine } from "./recording-engine.ts";
import { Lines, TestClock } from "../../kit/engine.ts";

const setting = () => ({ clock: new TestClock(), log: new Lines(), ms: 15_000 });
const spawn = { parentSessionKey: "main", childSessionKey: "main::coder", contextMode: "fork" as const };
const engine = (more: Partial<ContextEngine>): ContextEngine => Object.assign(new RecordingEngine(), more);

describe("a child session", () => {
  it("is prepared, and rolled back when it does not come about", async () => {
    const told: unknown[] = [];
    const prepared = await prepareSubagentSpawn(
      engine({
        prepareSubagentSpawn: async (params) => (told.push(params), { rollback: () => void told.push("undone") }),
      }),
      spawn,
      setting(),
    );
    expect(told).toEqual([spawn]);
    if (prepared.kind === "ready") await prepared.rollback();
    expect(told).toEqual([spawn, "undone"]);
  });

  it("needs nothing of an engine that does not care, or says nothing", async () => {
    for (const one of [engine({}), engine({ prepareSubagentSpawn: async () => undefined })]) {
      const prepared = await prepareSubagentSpawn(one, spawn, setting());
      expect(prepared.kind).toBe("ready");
      if (prepared.kind === "ready") await prepared.rollback();
      await tellSubagentEnded(one, { childSessionKey: "main::coder", reason: "completed" }, setting());
    }
  });

  it("does not start when its preparation fails, nor waits for ever", async () => {
    const broken = engine({ prepareSubagentSpawn: () => Promise.reject(new Error("full")) });
    expect(await prepareSubagentSpawn(broken, spawn, setting())).toEqual({ kind: "failed", why: "full" });
    const on = setting();
    const hung = prepareSubagentSpawn(engine({ prepareSubagentSpawn: () => new Promise(() => undefined) }), spawn, on);
    expect(await on.clock.until(hung)).toBe(15_000);
    expect(await hung).toMatchObject({ kind: "failed" });
  });

  it("ends whatever the engine does about it", async () => {
    const on = setting();
    const broken = engine({
      prepareSubagentSpawn: async () => ({ rollback: () => Promise.reject(new Error("no")) }),
      onSubagentEnded: () => Promise.reject(new Error("no")),
    });
    const prepared = await prepareSubagentSpawn(broken, spawn, on);
    if (prepared.kind === "ready") await prepared.rollback();
    await tellSubagentEnded(broken, { childSessionKey: "main::coder", reason: "swept" }, on);
    expect(on.log.lines.map((line) => line["method"])).toEqual(["rollback", "onSubagentEnded"]);
  });
});

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
    const [check] = engineChecks(id, opening, async () => runs);
    return check?.run(new AbortController().signal);
  };

  it("says how often the engine was passed by of late, and why the last time", async () => {
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
