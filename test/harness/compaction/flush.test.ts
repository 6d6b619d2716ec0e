import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { budgetIn } from "../../../src/harness/context/budget.ts";
import { flushMemory, isFlushDue, mayFlush, type Flush } from "../../../src/harness/flush.ts";
import { agentId, runId } from "../../../src/types/ids.ts";
import type { Tool } from "../../../src/types/run/tool.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool, NO_APPROVER } from "../../kit/tools.ts";
import { MODEL, modelsAt } from "../../kit/models.ts";
import { bareDeps, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { settingsFor } from "../../kit/settings.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const COMPACTION = { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 60_000 };

async function flush(tools: readonly Tool[] = [], more: Partial<Flush> = {}, toolsOn?: () => readonly Tool[]) {
  const { session, clock, log } = fixture;
  return flushMemory({
    request: {
      facts: {
        runId: runId("flush-1"),
        sessionKey: session.key,
        sessionId: session.id,
        agentId: agentId("main"),
        trigger: "message",
      },
      settings: settingsFor(fixture.dir),
      choice: { candidates: [MODEL] },
      thinking: "off",
      timeoutMs: 600_000,
      tools,
      ...(toolsOn && { toolsOn }),
      systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
    },
    session,
    deps: { ...bareDeps, models: modelsAt(fixture.model.url), approvals: NO_APPROVER, log, clock },
    settings: { softThresholdTokens: 4000 },
    signal: new AbortController().signal,
    stoppedBy: () => "user",
    ...more,
  });
}

const talk = async (text: string, id: string) => {
  await fixture.start({ turn: userTurn(text, id) }).stream.done;
};
const shown = async () => JSON.stringify((await fixture.session.window(100_000)).messages);

describe("a memory flush", () => {
  it("writes notes in a turn that says where it comes from, and ends in silence", async () => {
    await talk("remember the colour blue", "t1");
    const written: string[] = [];
    const write = makeTool("write", async ({ text }) => (written.push(text), textResult("written")), true);
    fixture.model.answer((call) =>
      call.isAfterTool ? { text: "NO_REPLY" } : { tool: "write", args: { text: "the colour is blue" } },
    );
    const { kind, receipt } = await flush([write]);
    expect(kind).toBe("flushed");
    expect(written).toEqual(["the colour is blue"]);
    expect(receipt).toMatchObject({ calls: 2, usage: { input: 20, output: 10 } });
    const { said } = fixture.model.calls.at(-1)!;
    expect(said).toMatch(/memory\/\d{4}-\d\d-\d\d\.md[^]*NO_REPLY/);
    const own = (await fixture.session.window(100_000)).messages.find(
      ({ message }) => "provenance" in message,
    )?.message;
    expect(own).toMatchObject({ provenance: { kind: "internal_system", sourceTool: "memory_flush" } });
    expect((await fixture.transcript()).at(-1)).toBe("assistant: NO_REPLY");
  });

  it("may write files, and nothing else outside", async () => {
    await talk("hello", "t1");
    let sent = 0;
    const send = makeTool("message", async () => ((sent += 1), textResult("sent")), true);
    const write = makeTool("write", async () => textResult("written"), true);
    fixture.model.answer((call) =>
      call.isAfterTool ? { text: "NO_REPLY" } : { tool: "message", args: { text: "hi" } },
    );
    expect((await flush([send, write])).kind).toBe("flushed");
    expect(sent).toBe(0);
    expect(fixture.model.calls.at(-1)?.toolText).toContain("not available in this turn");
  });

  it("may do nothing else where a model has tools of its own either", async () => {
    await talk("hello", "t1");
    let sent = 0;
    const send = makeTool("message", async () => ((sent += 1), textResult("sent")), true);
    const write = makeTool("write", async () => textResult("written"), true);
    fixture.model.answer((call) =>
      call.isAfterTool ? { text: "NO_REPLY" } : { tool: "message", args: { text: "hi" } },
    );
    expect((await flush([write], {}, () => [send, write])).kind).toBe("flushed");
    expect(sent).toBe(0);
    expect(fixture.model.calls.at(-1)?.toolText).toContain("not available in this turn");
  });

  it("uses the prompt of the config, and asks for NO_REPLY where it does not", async () => {
    fixture.model.answer(() => ({ text: "NO_REPLY" }));
    await flush([], { settings: { softThresholdTokens: 1, prompt: "Save it in YYYY-MM-DD.txt" } });
    expect(fixture.model.calls.at(-1)?.said).toMatch(
      /^Save it in \d{4}-\d\d-\d\d\.txt\n\nYour whole answer is NO_REPLY\.$/,
    );
  });

  it("ends when it is stopped though the model hangs, and leaves the conversation as it was", async () => {
    await talk("hello", "t1");
    const before = await shown();
    fixture.model.answer(() => "hang");
    const stop = new AbortController();
    const flushing = flush([], { signal: stop.signal });
    await fixture.model.called(2);
    stop.abort("user");
    expect(await flushing).toMatchObject({ kind: "interrupted", result: { kind: "aborted", by: "user" } });
    expect(await shown()).toBe(before);
    fixture.model.answer(() => ({ text: "fine" }));
    await talk("and now?", "t2");
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages)).not.toContain("NO_REPLY");
  });

  it("that is stopped before it begins asks no model", async () => {
    const calls = fixture.model.calls.length;
    expect((await flush([], { signal: AbortSignal.abort(), stoppedBy: () => "shutdown" })).result).toMatchObject({
      by: "shutdown",
    });
    expect(fixture.model.calls).toHaveLength(calls);
  });

  it("compacts nothing and asks once when it does not fit", async () => {
    for (const id of ["t1", "t2", "t3"]) await talk(`${id} ${"word ".repeat(400)}`, id);
    const before = await shown();
    const calls = fixture.model.calls.length;
    fixture.model.answer(() => ({ status: 400, message: "maximum context length is 10 tokens" }));
    expect((await flush()).kind).toBe("failed");
    const asked = fixture.model.calls.slice(calls).filter((call) => !call.system.startsWith("You write the memory"));
    expect(asked).toHaveLength(1);
    expect(await shown()).toBe(before);
    expect((await fixture.session.window(100_000)).summary).toBeUndefined();
  });
});

describe("is due", () => {
  const write = makeTool("write", async () => textResult(""), true);
  const compaction = { ...COMPACTION, memoryFlush: { softThresholdTokens: 4000 } };
  const entry = { sessionId: "s", updatedAt: 1 };

  it("so many tokens before a compaction; in a small window at most a quarter of its budget before", () => {
    const at = (filled: number, window = 200_000) => isFlushDue({ filled, window, fixed: 0 }, { compaction });
    expect([at(176_000), at(176_001)]).toEqual([false, true]);
    expect([at(4500, 8000), at(4501, 8000)]).toEqual([false, true]);
  });

  it("never later than the compaction itself", () => {
    fc.assert(
      fc.property(fc.nat(300_000), fc.nat(300_000), fc.nat(20_000), (filled, window, softThresholdTokens) => {
        const settings = { compaction: { ...COMPACTION, memoryFlush: { softThresholdTokens } } };
        if (filled > budgetIn(window, settings)) expect(isFlushDue({ filled, window, fixed: 0 }, settings)).toBe(true);
      }),
    );
  });

  it("only when the agent can write, the config wants it, and once in each cycle", () => {
    expect(mayFlush({ entry, tools: [write] }, { compaction })).toBe(true);
    expect(mayFlush({ entry, tools: [makeTool("read", async () => textResult(""))] }, { compaction })).toBe(false);
    expect(mayFlush({ entry, tools: [write] }, { compaction: COMPACTION })).toBe(false);
    const flushed = (cycle: number) => ({ ...entry, compactionCount: cycle, memoryFlushCompactionCount: 1 });
    expect(mayFlush({ entry: flushed(1), tools: [write] }, { compaction })).toBe(false);
    expect(mayFlush({ entry: flushed(2), tools: [write] }, { compaction })).toBe(true);
  });
});
