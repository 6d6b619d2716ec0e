import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { budgetIn } from "../../../src/harness/context/budget.ts";
import { flushMemory, isFlushDue, mayFlush, type Flush } from "../../../src/harness/compaction/flush.ts";
import { agentId, runId } from "../../../src/types/ids.ts";
import type { Tool } from "../../../src/types/run/tool.ts";
import { done, makeTool, MODEL, modelsAt, NOBODY, openStage, settingsFor, type Stage, turn } from "../stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage.close());

const COMPACTION = { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 60_000 };

async function flush(tools: readonly Tool[] = [], more: Partial<Flush> = {}) {
  const { session, clock, log } = stage;
  return flushMemory({
    request: {
      facts: {
        runId: runId("flush-1"),
        sessionKey: session.key,
        sessionId: session.id,
        agentId: agentId("main"),
        trigger: "message",
      },
      settings: settingsFor(stage.dir),
      choice: { candidates: [MODEL] },
      thinking: "off",
      timeoutMs: 600_000,
      tools,
      systemPrompt: async () => ({ text: "You are a test.", parts: [] }),
    },
    session,
    deps: { models: modelsAt(stage.model.url), approvals: NOBODY, log, clock },
    settings: { softThresholdTokens: 4000 },
    signal: new AbortController().signal,
    ...more,
  });
}

const talk = async (text: string, id: string) => {
  await stage.start({ turn: turn(text, id) }).stream.done;
};
const shown = async () => JSON.stringify((await stage.session.window(100_000)).messages);

describe("a memory flush", () => {
  it("writes notes in a turn that says where it comes from, and ends in silence", async () => {
    await talk("remember the colour blue", "t1");
    const written: string[] = [];
    const write = makeTool("write", async ({ text }) => (written.push(text), done("written")), true);
    stage.model.answer((call) =>
      call.isAfterTool ? { text: "NO_REPLY" } : { tool: "write", args: { text: "the colour is blue" } },
    );
    const { kind, receipt } = await flush([write]);
    expect(kind).toBe("flushed");
    expect(written).toEqual(["the colour is blue"]);
    expect(receipt).toMatchObject({ calls: 2, usage: { input: 20, output: 10 } });
    const { said } = stage.model.calls.at(-1)!;
    expect(said).toMatch(/memory\/\d{4}-\d\d-\d\d\.md[^]*NO_REPLY/);
    const own = (await stage.session.window(100_000)).messages.find(({ message }) => "provenance" in message)?.message;
    expect(own).toMatchObject({ provenance: { kind: "internal_system", sourceTool: "memory_flush" } });
    expect((await stage.transcript()).at(-1)).toBe("assistant: NO_REPLY");
  });

  it("may write files, and nothing else outside", async () => {
    await talk("hello", "t1");
    let sent = 0;
    const send = makeTool("message", async () => ((sent += 1), done("sent")), true);
    const write = makeTool("write", async () => done("written"), true);
    stage.model.answer((call) => (call.isAfterTool ? { text: "NO_REPLY" } : { tool: "message", args: { text: "hi" } }));
    expect((await flush([send, write])).kind).toBe("flushed");
    expect(sent).toBe(0);
    expect(stage.model.calls.at(-1)?.toolText).toContain("not available in this turn");
  });

  it("heeds the words of the config, and asks for silence where they do not", async () => {
    stage.model.answer(() => ({ text: "NO_REPLY" }));
    await flush([], { settings: { softThresholdTokens: 1, prompt: "Save it in YYYY-MM-DD.txt" } });
    expect(stage.model.calls.at(-1)?.said).toMatch(
      /^Save it in \d{4}-\d\d-\d\d\.txt\n\nYour whole answer is NO_REPLY\.$/,
    );
  });

  it("ends when it is stopped though the model hangs, and leaves the conversation as it was", async () => {
    await talk("hello", "t1");
    const before = await shown();
    stage.model.answer(() => "hang");
    const stop = new AbortController();
    const flushing = flush([], { signal: stop.signal });
    await stage.model.called(2);
    stop.abort("user");
    expect(await flushing).toMatchObject({ kind: "interrupted", result: { kind: "aborted", by: "user" } });
    expect(await shown()).toBe(before);
    stage.model.answer(() => ({ text: "fine" }));
    await talk("and now?", "t2");
    expect(JSON.stringify(stage.model.calls.at(-1)?.messages)).not.toContain("NO_REPLY");
  });

  it("that is stopped before it begins asks no model", async () => {
    const calls = stage.model.calls.length;
    expect((await flush([], { signal: AbortSignal.abort("shutdown") })).result).toMatchObject({ by: "shutdown" });
    expect(stage.model.calls).toHaveLength(calls);
  });

  it("compacts nothing and asks once when it does not fit", async () => {
    for (const id of ["t1", "t2", "t3"]) await talk(`${id} ${"word ".repeat(400)}`, id);
    const before = await shown();
    const calls = stage.model.calls.length;
    stage.model.answer(() => ({ status: 400, message: "maximum context length is 10 tokens" }));
    expect((await flush()).kind).toBe("failed");
    const asked = stage.model.calls.slice(calls).filter((call) => !call.system.startsWith("You write the memory"));
    expect(asked).toHaveLength(1);
    expect(await shown()).toBe(before);
    expect((await stage.session.window(100_000)).summary).toBeUndefined();
  });
});

describe("is due", () => {
  const write = makeTool("write", async () => done(""), true);
  const compaction = { ...COMPACTION, memoryFlush: { softThresholdTokens: 4000 } };
  const entry = { sessionId: "s", updatedAt: 1 };

  it("so many tokens before a compaction; in a small window at most a quarter of its room before", () => {
    const at = (filled: number, window = 200_000) => isFlushDue({ filled, window }, { compaction });
    expect([at(176_000), at(176_001)]).toEqual([false, true]);
    expect([at(4500, 8000), at(4501, 8000)]).toEqual([false, true]);
  });

  it("never later than the compaction itself", () => {
    fc.assert(
      fc.property(fc.nat(300_000), fc.nat(300_000), fc.nat(20_000), (filled, window, softThresholdTokens) => {
        const settings = { compaction: { ...COMPACTION, memoryFlush: { softThresholdTokens } } };
        if (filled > budgetIn(window, settings)) expect(isFlushDue({ filled, window }, settings)).toBe(true);
      }),
    );
  });

  it("only when the agent can write, the config wants it, and once in each cycle", () => {
    expect(mayFlush({ entry, tools: [write] }, { compaction })).toBe(true);
    expect(mayFlush({ entry, tools: [makeTool("read", async () => done(""))] }, { compaction })).toBe(false);
    expect(mayFlush({ entry, tools: [write] }, { compaction: COMPACTION })).toBe(false);
    const flushed = (cycle: number) => ({ ...entry, compactionCount: cycle, memoryFlushCompactionCount: 1 });
    expect(mayFlush({ entry: flushed(1), tools: [write] }, { compaction })).toBe(false);
    expect(mayFlush({ entry: flushed(2), tools: [write] }, { compaction })).toBe(true);
  });
});
