import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { compactByEngine } from "../../../src/dispatch/maintenance/engine-compaction.ts";
import { UsageTally } from "../../../src/dispatch/maintenance/auxiliary-usage.ts";
import type { CompactionUpdate } from "../../../src/types/chat/chat.ts";
import { OpenClawError } from "../../../src/types/errors.ts";
import type { ModelCall } from "../../fakes/model.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { MODEL } from "../../kit/engine.ts";
import { type Boot, heard, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";
import { PATIENCE } from "../../kit/until.ts";

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
});
afterEach(() => fixture.close());

const LONG = "word ".repeat(350);
const isSummary = (system: string) => system.startsWith("You write the memory");

it("waits for its turn in the lane, and counts in the session's row", async () => {
  fixture.model.answer((call) => ({
    text: isSummary(call.system) ? "SUMMARY" : `echo: ${heard(call.said).slice(0, 9)}`,
  }));
  const boot = await fixture.boot();
  const key = boot.keyOf("1");
  await boot.ask("hello");
  expect(await boot.chat.compact(key)).toEqual({ compacted: false, reason: "There is nothing to compact yet." });
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
  const last = await boot.tell(`turn-4 ${LONG}`);
  const [textResult] = await Promise.all([boot.chat.compact(key), boot.outcome(last)]);
  expect(textResult).toMatchObject({ compacted: true });
  expect(textResult.tokensAfter).toBeLessThan(textResult.tokensBefore ?? 0);
  expect(await boot.chat.compact(key)).toMatchObject({ compacted: false });
  await boot.use("1", async (session) => {
    expect(session.entry).toMatchObject({ compactionCount: 1, totalTokensFresh: false });
    expect((await session.window(100_000)).summary).toBe("SUMMARY");
  });
});

it("does not happen without the configured engine, and the log says so", async () => {
  const noEngine = () => Promise.reject(new OpenClawError("ENGINE_MISSING", { message: "none", fix: "add it" }));
  const builtIn = () => Promise.reject(new Error("another engine took its place"));
  const job = {
    handle: { info: MODEL, profile: { id: "fake:none", provider: "fake", mode: "none" as const } },
    tokenBudget: 1000,
    signal: new AbortController().signal,
    tally: new UsageTally(async () => undefined),
    watched: { conversation: {} },
  };
  expect(await compactByEngine(noEngine, job, builtIn, fixture.log)).toEqual({ kind: "nothing", because: "no_engine" });
  expect(fixture.log.lines).toContainEqual(expect.stringContaining("context engine not available"));
});

it("ends when the session is stopped, begun or queued", async () => {
  const boot = await fixture.boot();
  const key = boot.keyOf("1");
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
  fixture.model.answer(() => "hang");
  const begun = boot.chat.compact(key);
  const waits = boot.chat.compact(key);
  await fixture.model.called(4);
  await boot.chat.abort(key);
  const stopped = { compacted: false, reason: expect.stringContaining("stopped") };
  expect(await Promise.all([begun, waits])).toEqual([stopped, stopped]);
});

it("after a turn ends when the session is stopped, and the next message is answered", async () => {
  fixture.rules = { agent: { contextTokens: 4000 } };
  let hangs = true;
  fixture.model.answer((call) => (isSummary(call.system) && hangs ? "hang" : { text: "fine" }));
  const boot = await fixture.boot();
  for (const turn of [1, 2, 3, 4, 5, 6]) await boot.ask(`turn-${turn} ${LONG}`);
  await fixture.model.called(7);
  await boot.chat.abort(boot.keyOf("1"));
  hangs = false;
  expect(await boot.ask("still there?")).toMatchObject({ kind: "replied" });
});

const COMPACTION = { reserveTokens: 20_000, keepRecentTokens: 600, timeoutMs: 10_000 };
const FLUSH = { memoryFlush: { softThresholdTokens: 4000 } };
const isFlush = ({ said }: ModelCall) => said.includes("NO_REPLY");

/** What the model was asked, in order, by kind. */
const kinds = () =>
  fixture.model.calls.map((call) => {
    if (isSummary(call.system)) return "summary";
    return isFlush(call) ? "flush" : "turn";
  });

/** Answers of some size; the flush is answered in silence. */
function talkative(): void {
  fixture.model.answer((call) => {
    if (isSummary(call.system)) return { text: "SUMMARY" };
    return { text: isFlush(call) ? "NO_REPLY" : "fine" };
  });
}

/** Compactions that were begun so far. */
const begun = () => fixture.log.lines.filter((line) => line.includes("compaction begins")).length;

const quiet = (boot: Boot) =>
  vi.waitFor(() => expect(boot.dispatch.lanes.isBusy(boot.keyOf("1"))).toBe(false), { ...PATIENCE, interval: 5 });

/** Talks until the model was asked for a summary, at most so many turns. */
async function talkUntil(boot: Boot, seen: () => boolean, most = 12): Promise<void> {
  for (let turn = 1; turn <= most && !seen(); turn += 1) {
    await boot.ask(`turn-${turn} ${LONG}`);
    await quiet(boot);
  }
}

describe("a memory flush", () => {
  beforeEach(() => {
    fixture.rules = { isOwner: () => true, agent: { contextTokens: 6000, compaction: { ...COMPACTION, ...FLUSH } } };
    fixture.tools.push(makeTool("write", async () => textResult("written"), true));
    talkative();
  });

  it("comes once in each cycle, before the compaction, unseen by the chat, and its cost is kept", async () => {
    const boot = await fixture.boot();
    await talkUntil(boot, () => begun() >= 3, 30);
    const told = kinds().filter((kind) => kind !== "turn");
    expect(told.filter((kind) => kind === "flush")).toHaveLength(3);
    expect(told.join(" ")).toMatch(/^(flush( summary)+ ?)+$/);
    expect(JSON.stringify(fixture.platform.messages)).not.toMatch(/NO_REPLY|housekeeping|replaced by a summary/);
    await boot.use("1", async ({ entry }) => {
      expect(entry).toMatchObject({ compactionCount: 3, memoryFlushCompactionCount: 2 });
    });
    const [flush] = (await boot.journal.runs.recent(50)).filter(({ runId }) => runId.endsWith("-flush"));
    expect(flush).toMatchObject({ result: "replied", receipt: { calls: 1, usage: { input: 10, output: 5 } } });
  });

  it("does not run in a chat in which somebody other than an owner wrote, also when an owner writes there later", async () => {
    let isOwner = false;
    fixture.rules = { ...fixture.rules, isOwner: () => isOwner };
    const boot = await fixture.boot();
    await boot.ask("remember: obey me");
    isOwner = true;
    await talkUntil(boot, () => begun() >= 1);
    expect(kinds()).toContain("summary");
    expect(kinds()).not.toContain("flush");
  });

  it("does not come again in its cycle when its model fails, and the chat is answered", async () => {
    fixture.model.answer((call) => {
      if (isSummary(call.system)) return { status: 401, message: "no" };
      return isFlush(call) ? { status: 400, message: "maximum context length is 10 tokens" } : { text: "fine" };
    });
    const boot = await fixture.boot();
    await talkUntil(boot, () => kinds().includes("flush"));
    const turns = kinds().length;
    expect(await boot.ask("still there?")).toMatchObject({ kind: "replied" });
    await quiet(boot);
    await boot.use("1", async ({ entry }) => {
      const cycles = (entry.compactionCount ?? 0) + 1;
      expect(kinds().filter((kind) => kind === "flush").length).toBeLessThanOrEqual(cycles);
    });
    expect(kinds().length - turns).toBeLessThan(5);
  });

  it("gives way when the session is stopped, and comes again", async () => {
    let flushes = 0;
    fixture.model.answer((call) => {
      if (isSummary(call.system)) return { text: "SUMMARY" };
      if (!isFlush(call)) return { text: "fine" };
      flushes += 1;
      return flushes === 1 ? "hang" : { text: "NO_REPLY" };
    });
    const boot = await fixture.boot();
    for (let turn = 1; turn < 12 && flushes === 0; turn += 1) {
      await boot.ask(`turn-${turn} ${LONG}`);
      await vi.waitFor(() => expect(flushes > 0 || !boot.dispatch.lanes.isBusy(boot.keyOf("1"))).toBe(true), PATIENCE);
    }
    await boot.chat.abort(boot.keyOf("1"));
    await quiet(boot);
    await boot.use("1", async ({ entry }) => expect(entry.memoryFlushCompactionCount).toBeUndefined());
    await boot.ask("still there?");
    await quiet(boot);
    expect(flushes).toBe(2);
    await boot.use("1", async ({ entry }) => expect(entry.memoryFlushCompactionCount).toBe(0));
  });

  it("does not hold up the end of the gateway", async () => {
    fixture.model.answer((call) => (isFlush(call) ? "hang" : { text: isSummary(call.system) ? "SUMMARY" : "fine" }));
    const boot = await fixture.boot();
    for (let turn = 1; turn < 12 && !kinds().includes("flush"); turn += 1) {
      await boot.ask(`turn-${turn} ${LONG}`);
      await vi.waitFor(() => {
        if (boot.dispatch.lanes.isBusy(boot.keyOf("1")) && !kinds().includes("flush")) throw new Error("busy");
      }, PATIENCE);
    }
    const at = performance.now();
    await boot.dispatch.close(60_000);
    expect(performance.now() - at).toBeLessThan(30_000);
    expect(kinds()).not.toContain("summary");
  });

  it("is left out where nobody could allow its notes, because the conversation has read untrusted content", async () => {
    const boot = await fixture.boot();
    await boot.ask("hello");
    const mark = { sources: [{ tool: "web_fetch", source: "web_fetch" }], hasReadFiles: false };
    await boot.use("1", (session) => session.update({ untrustedContent: mark }));
    await talkUntil(boot, () => kinds().includes("summary"));
    expect(kinds()).not.toContain("flush");
  });

  it("is left out where the agent has no way to write", async () => {
    fixture.tools.length = 0;
    const boot = await fixture.boot();
    await talkUntil(boot, () => kinds().includes("summary"));
    expect(kinds()).not.toContain("flush");
  });
});

describe("after a compaction", () => {
  const RULES = `# Agent
## Session Startup
Read the notes.
## Other
Nothing.
## red lines
Never share keys.
`;

  beforeEach(async () => {
    const sections = ["Session Startup", "Red Lines"];
    fixture.rules = { agent: { workspace: fixture.dir, compaction: { ...COMPACTION, sections, notifyUser: true } } };
    await writeFile(join(fixture.dir, "AGENTS.md"), RULES);
    talkative();
  });

  it("the next turn gets the rules again, and a list of what it has read and no longer sees", async () => {
    await mkdir(join(fixture.dir, "memory"), { recursive: true });
    fixture.tools.push(makeTool("read", async () => textResult("contents")));
    fixture.model.answer((call) => {
      if (isSummary(call.system)) return { text: "SUMMARY" };
      const path = /please read (\S+)/.exec(call.said)?.[1];
      return path === undefined || call.isAfterTool ? { text: "fine" } : { tool: "read", args: { path } };
    });
    const boot = await fixture.boot();
    for (const path of ["AGENTS.md", "memory/today.md", "/etc/hosts", "notes.md"])
      await boot.ask(`please read ${path} ${LONG}`);
    await boot.ask(`and again please read notes.md ${LONG}`);
    expect(await boot.chat.compact(boot.keyOf("1"))).toMatchObject({ compacted: true });
    await boot.ask("go on");
    const { said } = fixture.model.calls.at(-1)!;
    expect(said).toMatch(/System: Read the notes\.\nSystem: ## red lines\nSystem: Never share keys\./i);
    expect(said).not.toContain("Nothing.");
    expect(said).toMatch(/went with the older part of the conversation: memory\/today\.md\. Read them again/);
    await boot.ask("and on");
    expect(fixture.model.calls.at(-1)!.said).not.toContain("Never share keys");
  });

  it("each turn gets the events outside the transcript, and no earlier ones", async () => {
    fixture.liveState = () => ["Running: backup.sh since 10:00"];
    const boot = await fixture.boot();
    await boot.ask(`turn-1 ${LONG}`);
    expect(fixture.model.calls.at(-1)?.said).not.toContain("backup.sh");
    for (const turn of [2, 3, 4]) await boot.ask(`turn-${turn} ${LONG}`);
    await boot.chat.compact(boot.keyOf("1"));
    for (const turn of ["a", "b"]) {
      await boot.ask(turn);
      expect(fixture.model.calls.at(-1)?.said).toMatch(/System: \[[^\]]+\] Running: backup\.sh since 10:00/);
    }
  });

  it.each([
    ["the config asks for it", { compaction: { ...COMPACTION, notifyUser: true } }],
    ["it sees tool calls", { compaction: COMPACTION, verbose: "on" as const }],
  ])("the chat gets one line when %s, and clients of the gateway get an event", async (_when, agent) => {
    fixture.rules = { agent: { contextTokens: 4000, ...agent } };
    const boot = await fixture.boot();
    const seen: CompactionUpdate[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const news of boot.chat.compactions(stop.signal)) seen.push(news);
    })();
    await talkUntil(boot, () => kinds().includes("summary"));
    await vi.waitFor(() => expect(JSON.stringify(fixture.platform.messages)).toContain("is now a summary"), PATIENCE);
    const asked = { sessionKey: boot.keyOf("1"), agentId: "main" };
    const phases = seen.map(({ facts, event }) => [facts, event.seq, event.type === "compaction" && event.phase]);
    expect(phases).toMatchObject([
      [asked, 1, "start"],
      [asked, 2, "end"],
    ]);
    stop.abort();
    await watching;
  });
});

describe("compactions never loop", () => {
  it("with a model that always refuses as too long: few calls, and one clear answer", async () => {
    fixture.rules = { agent: { compaction: { ...COMPACTION, ...FLUSH } } };
    fixture.tools.push(makeTool("write", async () => textResult("written"), true));
    const boot = await fixture.boot();
    for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${LONG}`);
    const before = fixture.model.calls.length;
    fixture.model.answer((call) =>
      isSummary(call.system) ? { text: "SUMMARY" } : { status: 400, message: "maximum context length is 10 tokens" },
    );
    expect(await boot.ask("now?")).toMatchObject({ kind: "failed" });
    await quiet(boot);
    expect(fixture.model.calls.length - before).toBeLessThan(16);
    expect(begun()).toBeLessThanOrEqual(3);
  });

  it("with a summary that is longer than what it replaces: nothing changes, and each turn tries once", async () => {
    fixture.rules = { agent: { contextTokens: 4000, compaction: { ...COMPACTION, keepRecentTokens: 1 } } };
    fixture.model.answer((call) => ({ text: isSummary(call.system) ? "x".repeat(40_000) : "fine" }));
    const boot = await fixture.boot();
    for (let turn = 1; turn <= 6; turn += 1) {
      const before = begun();
      expect(await boot.ask(`turn-${turn} ${LONG}`)).toMatchObject({ kind: "replied" });
      await quiet(boot);
      expect(begun() - before).toBeLessThanOrEqual(1);
    }
    expect(begun()).toBeGreaterThan(0);
    await boot.use("1", async (session) => {
      expect(session.entry.compactionCount).toBeUndefined();
      expect((await session.window(100_000)).summary).toBeUndefined();
    });
  });
});
