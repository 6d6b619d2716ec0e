import { readFileSync } from "node:fs";
import { uncheckedEngine, type EngineOptions } from "../kit/engine.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CompactionDesk } from "../../src/history/engines/compaction-desk.ts";
import type {
  AfterTurnParams,
  AgentMessage,
  AssembleParams,
  CompactParams,
  ContextEngine,
} from "../../src/types/engine/context-engine.ts";
import type { Run } from "../../src/harness/run.ts";
import type { AgentInternalEvent } from "../../src/types/engine/internal-event.ts";
import { openedByPi } from "../kit/run.ts";
import { KeyedQueue } from "../../src/utils/keyed-queue.ts";
import { RecordingEngine } from "../history/engines/recording-engine.ts";
import { textResult } from "../../src/tools/define.ts";
import { makeTool } from "../kit/tools.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { settingsFor } from "../kit/settings.ts";
import { openerAt } from "./engine-opener.ts";

let fixture: RunFixture;
let background: KeyedQueue;
beforeEach(async () => {
  fixture = await openRunFixture();
  background = new KeyedQueue();
});
afterEach(async () => {
  await background.idle();
  await fixture.close();
});

/** As the gateway opens the engine of its slot. */
const opener = (engine: ContextEngine, turnKey: string, more: Partial<EngineOptions> = {}) =>
  openerAt(fixture, {
    id: engine.info.id,
    engines: {
      get: (id) => (id === engine.info.id ? Promise.resolve(() => engine) : undefined),
      whyMissing: () => undefined,
    },
    turnKey,
    more: () => ({ background, ...more }),
  });

/** One turn as the gateway runs it: the run, and behind it what the engine is told. */
async function ask(
  engine: ContextEngine,
  words: string,
  id: string,
  more: Partial<Parameters<RunFixture["start"]>[0]> & { engineOptions?: Partial<EngineOptions> } = {},
) {
  const { engineOptions, ...given } = more;
  const look = makeTool("look", async ({ text }) => textResult(`Seen at ${text}.`));
  const run = fixture.start({
    turn: userTurn(words, id),
    tools: [look],
    openEngine: opener(engine, id, engineOptions),
    ...given,
  });
  const events = await eventsOf(run.stream);
  await run.settle();
  const end = events.at(-1);
  if (end?.type !== "run_end") throw new Error("the run has no end");
  const notices = events.flatMap((event) =>
    event.type === "notice" && event.because === "engine" ? [event.text] : [],
  );
  const shown = events.flatMap((event) => (event.type === "message_end" ? [event.text] : []));
  return { events, notices, shown, result: end.result, receipt: end.receipt };
}

/** Looks once in every turn. */
const lookThenAnswer = () =>
  fixture.model.answer((call) =>
    call.isAfterTool ? { text: `after ${call.toolText}` } : { tool: "look", args: { text: call.said } },
  );

const textsOf = (messages: unknown): string[] =>
  (messages as AgentMessage[]).map(({ role, content }) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return `${role}: ${parts.map((part) => ("text" in part ? part.text : part.type)).join("|")}`;
  });

describe("the order of an engine's calls over two turns with a tool", () => {
  it("of one that owns compaction: is called again before every further model call", async () => {
    const engine = new RecordingEngine();
    lookThenAnswer();
    for (const at of [1, 2]) {
      const told = await ask(engine, `here ${at}`, `turn-${at}`);
      expect(told.result.kind).toBe("replied");
      expect(told.receipt).toMatchObject({ engine: "recording" });
      expect(told.receipt.engineDegraded).toBeUndefined();
      expect(told.notices).toEqual([]);
      await background.idle();
    }
    expect(engine.order).toEqual([
      // The first turn, whose session has no file yet.
      "assemble",
      "afterTurn",
      "assemble",
      "afterTurn",
      "maintain",
      "dispose",
      // The second.
      "bootstrap",
      "maintain",
      "assemble",
      "afterTurn",
      "assemble",
      "afterTurn",
      "maintain",
      "dispose",
    ]);
    const told = engine.calls.filter(({ method }) => method === "afterTurn").map(({ params }) => params);
    const news = told.map(({ messages, prePromptMessageCount }) =>
      textsOf(messages).slice(prePromptMessageCount as number),
    );
    expect(news).toEqual([
      ["user: here 1", "assistant: toolCall", "toolResult: Seen at here 1."],
      ["assistant: after Seen at here 1."],
      ["user: here 2", "assistant: toolCall", "toolResult: Seen at here 2."],
      ["assistant: after Seen at here 2."],
    ]);
  });

  it("of one that does not: once before the run, once after it", async () => {
    const engine = new RecordingEngine({ ownsCompaction: false });
    lookThenAnswer();
    for (const at of [1, 2]) {
      await ask(engine, `here ${at}`, `turn-${at}`);
      await background.idle();
    }
    expect(engine.order).toEqual([
      "assemble",
      "afterTurn",
      "maintain",
      "dispose",
      "bootstrap",
      "maintain",
      "assemble",
      "afterTurn",
      "maintain",
      "dispose",
    ]);
    expect(textsOf(engine.last("afterTurn")["messages"]).slice(-4)).toEqual([
      "user: here 2",
      "assistant: toolCall",
      "toolResult: Seen at here 2.",
      "assistant: after Seen at here 2.",
    ]);
  });

  it("shows the model what the engine remembers, the present turn last and once", async () => {
    const engine = new RecordingEngine();
    lookThenAnswer();
    for (const at of [1, 2]) {
      await ask(engine, `here ${at}`, `turn-${at}`);
      await background.idle();
    }
    const roles = fixture.model.calls.at(-1)?.messages.map(({ role }) => role);
    expect(roles).toEqual(["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]);
    expect(fixture.model.calls.at(-1)?.said).toBe("here 2");
  });
});

describe("afterTurn", () => {
  it("comes when the answer is on disk", async () => {
    const seen: string[] = [];
    const engine = new RecordingEngine();
    const told = engine.afterTurn.bind(engine);
    engine.afterTurn = async (params) => {
      seen.push(readFileSync(fixture.session.file, "utf8"));
      await told(params);
    };
    fixture.model.answer(() => ({ text: "written down" }));
    await ask(engine, "hello", "turn-1");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain("written down");
  });

  it("also follows a run that failed", async () => {
    const engine = new RecordingEngine();
    fixture.model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
    const told = await ask(engine, "hello", "turn-1");
    expect(told.result.kind).toBe("failed");
    await background.idle();
    expect(engine.order).toEqual(["assemble", "afterTurn", "maintain", "dispose"]);
  });
});

describe("a conversation that is too long for the model", () => {
  const OVERFLOW = { status: 400, message: "This model's maximum context length is 10 tokens" };

  async function fill(engine: ContextEngine) {
    fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
    for (const at of [1, 2, 3]) await ask(engine, `word `.repeat(40) + at, `turn-${at}`);
    await background.idle();
    return fixture.model.calls.length;
  }

  it("is compacted by the engine that owns compaction, and the gateway's own stays out of it", async () => {
    const engine = new RecordingEngine();
    const before = await fill(engine);
    // What it compacted it does not take in again.
    const remembered = engine.assemble.bind(engine);
    engine.assemble = (params) => remembered({ ...params, prePromptMessageCount: 0 });
    fixture.model.answer((_, number) => (number === before + 1 ? OVERFLOW : { text: "fits now" }));
    const { events, result, shown } = await ask(engine, "and now?", "turn-4");
    expect(result.kind).toBe("replied");
    expect(shown).toEqual(["fits now"]);
    expect(engine.order.filter((method) => method === "compact")).toHaveLength(1);
    expect(engine.last("compact")).toMatchObject({ sessionId: fixture.session.id, compactionTarget: "budget" });
    expect(events.filter((event) => event.type === "retry")).toMatchObject([
      { because: "context_overflow", remedy: "compact" },
    ]);
    expect(events.filter((event) => event.type === "compaction")).toEqual([]);
    const [refused, taken, ...more] = fixture.model.calls.slice(before);
    expect(more).toEqual([]);
    expect(taken!.messages.length).toBeLessThan(refused!.messages.length);
    expect(taken!.system).toContain("Older turns were compacted.");
  });

  it("is sent whole again once the engine has summed up the turn's first steps", async () => {
    const engine = new RecordingEngine();
    engine.assemble = async ({ messages }) => {
      const calls = messages.filter(({ role }) => role === "toolResult").length;
      if (calls <= 40) return { messages, estimatedTokens: 100 };
      const from = messages.findLastIndex(({ role }, at) => role === "assistant" && at <= messages.length - 6);
      return { messages: [...messages.slice(0, 1), ...messages.slice(from)], estimatedTokens: 100 };
    };
    const look = makeTool("look", async ({ text }) => textResult(`Seen at ${text}. ${"some words here ".repeat(200)}`));
    fixture.model.answer((_, number) =>
      number <= 45 ? { tool: "look", args: { text: `${number}` } } : { text: "that is all" },
    );
    const settings = { ...settingsFor(fixture.dir), contextTokens: 12_000 };
    const { result } = await ask(engine, "look everywhere", "turn-1", { tools: [look], settings });
    expect(result.kind).toBe("replied");
    const resultsOf = (call = fixture.model.calls.at(-1)) =>
      (call?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => JSON.stringify(content));
    expect(resultsOf(fixture.model.calls[40]).some((text) => text.includes("compacted"))).toBe(true);
    expect(resultsOf().at(-1)).toContain("Seen at 45. some words here");
    expect(resultsOf().some((text) => text.includes("compacted"))).toBe(false);
  });

  it("ends in a clear failure when the engine never makes it smaller", async () => {
    const engine = new RecordingEngine();
    const before = await fill(engine);
    engine.compact = async () => ({ ok: true, compacted: true, result: { tokensBefore: 100, tokensAfter: 100 } });
    fixture.model.answer(() => OVERFLOW);
    const { result, notices } = await ask(engine, "and now?", "turn-4");
    expect(result).toMatchObject({
      kind: "failed",
      failure: { kind: "compaction_failure", message: expect.stringContaining("context engine compacted nothing") },
    });
    expect(fixture.model.calls.length - before).toBeLessThanOrEqual(8);
    expect(notices.length).toBeGreaterThan(0);
  });
});

describe("whether there is too much for the next turn", () => {
  /** Three turns of which no two fit the window, with an engine that says what it makes of them. */
  async function live(assemble: ContextEngine["assemble"]) {
    const engine: ContextEngine = new RecordingEngine({ ownsCompaction: false });
    fixture.model.answer((call) => ({
      text: call.system.startsWith("You write the memory") ? "summary" : "a ".repeat(2000),
    }));
    const settings = { ...settingsFor(fixture.dir), contextTokens: 8000 };
    for (let at = 1; at <= 5; at += 1) {
      engine.assemble = assemble;
      const turnKey = `t${at}`;
      const run = fixture.start({
        settings,
        turn: userTurn("q".repeat(3000), turnKey),
        openEngine: opener(engine, turnKey),
      });
      expect((await run.stream.done).kind).toBe("replied");
      await run.settle();
      await run.compactWhenFull();
    }
    const entries = await fixture.session.newest(1000);
    return { compactions: entries.filter(({ type }) => type === "compaction").length };
  }

  it("is decided by the engine's estimate, not by a transcript that it does not show", async () => {
    const small = await live(async ({ messages }) => ({ messages: messages.slice(-1), estimatedTokens: 10 }));
    expect(small.compactions).toBe(0);
  });

  it("is so when the engine's estimate says it, however short its messages are", async () => {
    const large = await live(async ({ messages }) => ({ messages: messages.slice(-1), estimatedTokens: 7900 }));
    expect(large.compactions).toBeGreaterThan(0);
  });

  it("is decided by the transcript where the engine is skipped", async () => {
    const broken = await live(() => Promise.reject(new Error("boom")));
    expect(broken.compactions).toBeGreaterThan(0);
  });
});

describe("a summary of ours that was written in front of the answer", () => {
  it("is reported to the engine after the run", async () => {
    const desk = new CompactionDesk();
    const recording = new RecordingEngine({ ownsCompaction: false });
    const engine: ContextEngine = Object.assign(recording, {
      compact: (params: CompactParams) => desk.compact(params),
    });
    fixture.model.answer((call) => ({
      text: call.system.startsWith("You write the memory") ? "the summary" : `echo ${"a ".repeat(800)}`,
    }));
    for (const at of [1, 2, 3]) await ask(engine, `word `.repeat(300) + at, `turn-${at}`, { engineOptions: { desk } });
    expect(recording.last<AfterTurnParams>("afterTurn").autoCompactionSummary).toBeUndefined();
    const before = fixture.model.calls.length;
    fixture.model.answer((call, number) => {
      if (number === before + 1) return { status: 400, message: "This model's maximum context length is 10 tokens" };
      return { text: call.system.startsWith("You write the memory") ? "the summary" : "fits now" };
    });
    const { result } = await ask(engine, "and now?", "turn-4", { engineOptions: { desk } });
    expect(result.kind).toBe("replied");
    await background.idle();
    expect(recording.last<AfterTurnParams>("afterTurn").autoCompactionSummary).toContain("the summary");
  });
});

describe("what an engine puts before the system prompt", () => {
  it("is what it said last, also between the calls of a tool loop", async () => {
    const engine = new RecordingEngine();
    let asked = 0;
    engine.assemble = async ({ messages }) => {
      asked += 1;
      const addition = asked === 3 ? {} : { systemPromptAddition: `ADDED ${asked}.` };
      return { messages, estimatedTokens: 10, ...addition };
    };
    fixture.model.answer((_, number) =>
      number <= 2 ? { tool: "look", args: { text: `${number}` } } : { text: "that is all" },
    );
    await ask(engine, "look", "turn-1");
    const added = fixture.model.calls.map(({ system }) => /^ADDED \d\./.exec(system)?.[0]);
    expect(added).toEqual(["ADDED 1.", "ADDED 2.", "ADDED 2."]);
  });
});

describe("an engine that breaks", () => {
  const boom = (): Promise<never> => Promise.reject(new Error("boom"));

  it.each<[string, (engine: RecordingEngine) => unknown, RegExp]>([
    ["throws", (engine) => (engine.assemble = boom), /skipped: assemble: .*boom/],
    ["hangs", (engine) => (engine.assemble = () => new Promise(() => undefined)), /skipped: assemble: /],
    [
      "answers nonsense",
      (engine) => uncheckedEngine(engine, { assemble: async () => ({ messages: 7 }) }),
      /skipped: assemble: /,
    ],
  ])("in assemble (it %s) is skipped, and that is seen", async (_, breaks, words) => {
    const engine = new RecordingEngine();
    fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
    await ask(engine, "first", "turn-1");
    breaks(engine);
    const told = await ask(engine, "second", "turn-2");
    expect(told.result.kind).toBe("replied");
    expect(told.shown).toEqual(["echo: second"]);
    expect(told.receipt.engineDegraded).toMatch(words);
    expect(told.notices).toEqual([told.receipt.engineDegraded]);
    expect(fixture.model.calls.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
    ]);
  });

  it("and owns compaction finds no summary of ours later: what does not fit is left out of what is sent", async () => {
    const engine = new RecordingEngine();
    engine.assemble = boom;
    fixture.model.answer((call) => ({
      text: call.system.startsWith("You write the memory") ? "summary" : "a ".repeat(2000),
    }));
    const settings = { ...settingsFor(fixture.dir), contextTokens: 6000 };
    for (let at = 1; at <= 6; at += 1) {
      const run = fixture.start({
        settings,
        turn: userTurn("q".repeat(3000), `t${at}`),
        openEngine: opener(engine, `t${at}`),
      });
      expect((await run.stream.done).kind).toBe("replied");
      await run.settle();
      expect(await run.compactWhenFull()).toBeUndefined();
    }
    const entries = await fixture.session.after("t1");
    expect(entries?.filter(({ type }) => type === "compaction")).toEqual([]);
    expect(fixture.model.calls.filter(({ system }) => system.startsWith("You write the memory"))).toEqual([]);
    expect(JSON.stringify(fixture.model.calls.at(-1)?.messages).length).toBeLessThan(4 * 6000);
  });

  it("in bootstrap is skipped as well", async () => {
    const engine = new RecordingEngine();
    fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
    await ask(engine, "first", "turn-1");
    engine.bootstrap = boom;
    const told = await ask(engine, "second", "turn-2");
    expect(told.shown).toEqual(["echo: second"]);
    expect(told.receipt.engineDegraded).toMatch(/skipped: bootstrap: .*boom/);
    expect(told.notices).toHaveLength(1);
  });

  it.each(["afterTurn", "maintain", "dispose"] as const)(
    "after the answer (%s) changes nothing of it",
    async (method) => {
      const engine = new RecordingEngine();
      engine[method] = boom;
      fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
      for (const at of [1, 2]) {
        const told = await ask(engine, `ask ${at}`, `turn-${at}`);
        expect(told.shown).toEqual([`echo: ask ${at}`]);
        await background.idle();
      }
      expect(fixture.log.lines).toContain("warn context engine failed");
    },
  );
});

describe("an engine that cannot be loaded", () => {
  it("fails the run, says what to do about it, and keeps the turn", async () => {
    fixture.model.answer((call) => ({ text: `echo: ${call.said}` }));
    const engine = new RecordingEngine();
    const told = await ask(engine, "hello", "turn-1", { engineOptions: { id: "lossless" } });
    expect(told.result).toMatchObject({ kind: "failed", failure: { kind: "engine" } });
    expect(told.receipt.engine).toBeUndefined();
    const message = told.result.kind === "failed" ? told.result.failure.message : "";
    expect(message).toContain("lossless");
    expect(message).toMatch(/plugins|contextEngine/);
    expect(fixture.model.calls).toEqual([]);
    expect(await fixture.transcript()).toEqual(["user: hello"]);
    const next = await ask(engine, "and now?", "turn-2");
    expect(next.result.kind).toBe("replied");
  });

  it("fails it the same when its factory breaks", async () => {
    const engine = new RecordingEngine();
    const engines = { get: () => Promise.reject(new Error("no such module")), whyMissing: () => undefined };
    const told = await ask(engine, "hello", "turn-1", { engineOptions: { engines } });
    expect(told.result).toMatchObject({ kind: "failed", failure: { kind: "engine" } });
    expect(JSON.stringify(told.result)).toContain("no such module");
  });
});

describe("what joins a conversation without a person", () => {
  const EVENT: AgentInternalEvent = {
    type: "task_completion",
    source: "subagent",
    childSessionKey: "agent:main:subagent:1",
    announceType: "subagent task",
    taskLabel: "c",
    status: "ok",
    statusLabel: "just completed successfully",
    result: "42",
    replyInstruction: "Tell your person.",
  };
  const provenance = { kind: "inter_session" as const, sourceTool: "subagent_announce" };
  const announcement = {
    ...userTurn("c has ended: 42. Tell your person.", "steer-1"),
    provenance,
    events: [EVENT],
    note: { customType: "openclaw.subagent", content: "c has ended: 42.", details: { provenance } },
  };
  const steered = (engine: ContextEngine, words: string, id: string) => {
    const look = makeTool("look", async () => {
      void run.steer(announcement);
      return textResult("ok");
    });
    const run: Run = fixture.start({ turn: userTurn(words, id), tools: [look], openEngine: opener(engine, id) });
    return run;
  };
  const signals = ({
    messages,
    inputProvenance,
    internalEvents,
  }: AssembleParams | (AfterTurnParams & Partial<AssembleParams>)) => {
    const at = messages.findLastIndex(({ role }) => role === "user");
    return {
      provenance: inputProvenance?.[at],
      events: internalEvents?.[at],
      own: (messages[at] as { provenance?: unknown } | undefined)?.provenance,
    };
  };

  it("has its signals for the engine and its line for the model when it joins a running turn", async () => {
    const engine = new RecordingEngine();
    fixture.model.answer(({ toolText }, number) =>
      number === 1 ? { tool: "look", args: {} } : { text: `noted ${toolText}` },
    );
    const run = steered(engine, "begin", "turn-1");
    expect((await eventsOf(run.stream)).at(-1)).toMatchObject({ result: { kind: "replied" } });
    await run.settle();
    const all = { provenance, own: provenance };
    expect(signals(engine.last<AssembleParams>("assemble"))).toEqual({ ...all, events: [EVENT] });
    expect(signals(engine.last<AfterTurnParams>("afterTurn"))).toMatchObject({ own: provenance });
    expect(JSON.stringify(engine.last("afterTurn")["messages"])).not.toContain("internalEvents");
    const sent = JSON.stringify(fixture.model.calls.at(-1)?.body);
    expect(sent).toMatch(/\[Inter-session message\] sourceTool=subagent_announce isUser=false.{1,80}Tell your person/);
    expect(sent.split("c has ended")).toHaveLength(2);
    openedByPi(fixture.session.file);
    const file = readFileSync(fixture.session.file, "utf8");
    expect(file).toContain("openclaw.suppressed_prompt");
    expect(file).not.toContain("Tell your person");
  });

  it("stays where it was asked through a second attempt, and is a note in later turns", async () => {
    fixture.model.answer((_, number) => {
      if (number === 1) return { tool: "look", args: {} };
      return number === 2 ? { status: 500, message: "Internal server error" } : { text: "well" };
    });
    const engine = new RecordingEngine({ ownsCompaction: false });
    const run = steered(engine, "begin", "turn-1");
    await run.stream.done;
    await run.settle();
    expect(fixture.model.calls).toHaveLength(3);
    expect(fixture.model.calls.at(-1)?.said).toBe(fixture.model.calls.at(-2)?.said);
    await ask(engine, "and then?", "turn-2");
    const { inputProvenance } = engine.last<AssembleParams>("assemble");
    expect(inputProvenance).toEqual([undefined, undefined, undefined, provenance, undefined, undefined]);
    await eventsOf(fixture.start({ turn: userTurn("and without it?", "turn-3") }).stream);
    expect(fixture.model.calls.at(-1)?.said).toBe("and without it?");
    expect(JSON.stringify(fixture.model.calls.at(-1)?.body)).toMatch(/isUser=false.{1,30}c has ended: 42\."/);
  });

  it("is given to the engine as new with the next turn, when it came between two", async () => {
    const told: string[] = [];
    const ingest = async ({ message }: { message: AgentMessage }) => {
      told.push(...textsOf([message]));
      return { ingested: true };
    };
    const plain: ContextEngine = {
      info: { id: "plain", name: "Plain" },
      ingest,
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
      compact: async () => ({ ok: true, compacted: false }),
    };
    const engine = new RecordingEngine({ ownsCompaction: false });
    fixture.model.answer(() => ({ text: "well" }));
    await ask(plain, "one", "turn-1");
    const note = {
      type: "custom_message",
      customType: "openclaw.cron",
      content: "You have said: hi",
      display: false,
    } as const;
    await fixture.session.append(note);
    await ask(plain, "two", "turn-2");
    expect(told).toEqual(["user: one", "assistant: well", "user: You have said: hi", "user: two", "assistant: well"]);
    await fixture.session.append({ ...note, content: "You have said: ho" });
    await ask(engine, "three", "turn-3");
    const { messages, prePromptMessageCount } = engine.last<AfterTurnParams>("afterTurn");
    expect(textsOf(messages).slice(prePromptMessageCount)).toEqual([
      "user: You have said: ho",
      "user: three",
      "assistant: well",
    ]);
    expect(messages[prePromptMessageCount]).toMatchObject({ provenance: { kind: "internal_system" } });
  });
});
