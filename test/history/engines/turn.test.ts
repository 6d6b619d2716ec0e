import { describe, expect, it } from "vitest";
import { askForRest } from "../../../src/harness/failover/continuation.ts";
import { enginesIn } from "../../../src/app/compose/engines.ts";
import { loadConfig } from "../../../src/app/config/load.ts";
import { Contributions } from "../../../src/plugins/contributions.ts";
import { delegateCompactionToRuntime } from "../../../src/api/core.ts";
import { EngineCooldowns } from "../../../src/history/engines/engine-cooldowns.ts";
import { keyNames } from "../../../src/sessions/shown/wire-keys.ts";
import { DEFAULT_AGENT } from "../../../src/types/ids.ts";
import { setPluginHost } from "../../../src/plugins/host-slot.ts";
import type {
  AfterTurnParams,
  AssembleParams,
  CompactParams,
  ContextEngine,
} from "../../../src/types/engine/context-engine.ts";
import { messageOf, parseLine } from "../../../src/sessions/transcript/entries.ts";
import type { AgentInternalEvent } from "../../../src/types/engine/internal-event.ts";
import type { ChatMessage } from "../../../src/types/run/model.ts";
import { emptyUsage } from "../../../src/types/run/usage.ts";
import { transcriptPart, withSaid } from "../../../src/history/engines/turn/transcript-part.ts";
import { CacheWatch } from "../../../src/history/engines/cache-watch.ts";
import { RecordingEngine } from "./recording-engine.ts";
import {
  answer,
  ask,
  compaction,
  ending,
  MODEL,
  never,
  result,
  engineFixture,
  textOf,
  turns,
  user,
  uncheckedEngine,
} from "../../kit/engine.ts";

const EVENT: AgentInternalEvent = {
  type: "task_completion",
  source: "subagent",
  childSessionKey: "main::coder",
  announceType: "subagent",
  taskLabel: "tests",
  status: "ok",
  statusLabel: "completed",
  result: "All green.",
  replyInstruction: "Tell the user.",
};

/** The least that an engine has to be. */
const small = (more: Partial<ContextEngine> = {}): ContextEngine => ({
  info: { id: "small", name: "Small" },
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }),
  compact: async () => ({ ok: true, compacted: false, reason: "small" }),
  ...more,
});

describe("a turn with an engine", () => {
  it("calls it in the order that engines count on", async () => {
    const engine = new RecordingEngine();
    const on = engineFixture(engine);
    const turn = await on.open();
    const history = turns(2);
    const [asked, looked, found] = [user("look"), answer("looking", "c1"), result("c1", "found")];
    await turn.begin(never);
    await turn.assemble(ask([...history, asked], 4));
    await turn.reassemble(ask([...history, asked, looked, found], 4));
    await turn.end(ending([...history, asked, looked, found, answer("there")], 4));
    await on.background.idle();
    expect(engine.order).toEqual([
      "bootstrap",
      "maintain",
      "assemble",
      "afterTurn",
      "assemble",
      "afterTurn",
      "maintain",
      "dispose",
    ]);
    const told = engine.calls.filter((call) => call.method === "afterTurn").map((call) => call.params);
    expect(told.map(({ prePromptMessageCount, messages }) => [prePromptMessageCount, (messages as []).length])).toEqual(
      [
        [4, 7],
        [7, 8],
      ],
    );
    expect(turn.degraded).toBeUndefined();
    expect(on.log.lines).toEqual([]);
  });

  it("leaves out what needs a transcript while there is none", async () => {
    const engine = new RecordingEngine();
    const on = engineFixture(engine, { hasFile: false });
    const turn = await on.open();
    await turn.begin(never);
    await turn.assemble(ask([user("first")], 0));
    await turn.end(ending([user("first"), answer("hello")], 0));
    await on.background.idle();
    expect(engine.order).toEqual(["assemble", "afterTurn", "maintain", "dispose"]);
  });

  it("gives it all fields of the contract", async () => {
    const engine = new RecordingEngine();
    const on = engineFixture(engine);
    const announced = user("a child ended", {
      provenance: { kind: "inter_session", sourceTool: "subagent_announce", sourceSessionKey: "main::coder" },
      internalEvents: [EVENT],
    });
    const older = user("from a friend", { provenance: { kind: "external_user" as "third-party_user" } });
    const turn = await on.open({ turn: { key: "entry-1", citationsMode: "off" } });
    await turn.begin(never);
    await turn.assemble(ask([older, answer("hi"), announced], 2));
    const first = engine.last<AssembleParams>("assemble");
    expect(first).toMatchObject({
      sessionId: on.options.session.sessionId,
      sessionKey: on.options.session.sessionKey,
      tokenBudget: 100_000,
      citationsMode: "off",
      model: MODEL.id,
      prompt: "a child ended",
      prePromptMessageCount: 2,
      inputProvenance: [{ kind: "third-party_user" }, undefined, announced.provenance],
      internalEvents: [undefined, undefined, [EVENT]],
      runtimeSettings: { executionHost: { id: "openclaw-embedded" } },
    });
    expect(first.availableTools).toBeInstanceOf(Set);
    expect([...(first.availableTools ?? [])]).toEqual(["read", "exec"]);
    expect(first.currentTokenCount).toBeGreaterThan(0);

    await turn.reassemble(ask([older, answer("hi"), announced, answer("looking", "c1"), result("c1", "x")], 2));
    const later = engine.last<AssembleParams>("assemble");
    expect(Object.keys(later)).not.toContain("prompt");
    expect(Object.keys(later)).not.toContain("availableTools");
    expect(later.internalEvents).toHaveLength(5);

    await turn.end(ending([older, answer("hi"), announced, answer("done")], 2));
    await on.background.idle();
    expect(engine.last<AfterTurnParams>("afterTurn")).toMatchObject({
      isHeartbeat: false,
      tokenBudget: 180_000,
      currentTokenCount: 1234,
      runtimeContext: {
        provider: "anthropic",
        model: MODEL.id,
        agentId: "main",
        agentHarnessId: "openclaw-embedded",
        usage: { input: 10, cacheRead: 900, cacheWrite: 40, total: 955 },
        promptCache: { retention: "short", lastCallUsage: { cacheRead: 900 } },
      },
    });
    const { runtimeContext } = engine.last<AfterTurnParams>("maintain");
    expect(runtimeContext?.allowDeferredCompactionExecution).toBe(true);
    expect(await runtimeContext?.llm?.complete({ messages: [] })).toMatchObject({ text: "A summary." });
    const boot = engine.first<AfterTurnParams>("maintain");
    expect(boot.runtimeContext?.allowDeferredCompactionExecution).toBeUndefined();
  });

  it("ends its model calls with the run, whatever signal it passes", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const [own, run] = [new AbortController(), new AbortController()];
    const told: unknown[] = [];
    const assemble: ContextEngine["assemble"] = async ({ messages, runtimeContext }) => {
      for (const signal of [undefined, own.signal, never])
        await runtimeContext?.llm?.complete({ messages: [], ...(signal && { signal }) });
      for (const abort of [own, run]) {
        abort.abort();
        told.push(signals.map((signal) => signal?.aborted));
      }
      return { messages, estimatedTokens: 1 };
    };
    const on = engineFixture(small({ assemble }));
    const complete = on.options.services.complete;
    const services = {
      ...on.options.services,
      complete: (request: Parameters<typeof complete>[0]) => {
        signals.push(request.signal);
        return complete(request);
      },
    };
    const turn = await on.open({ services });
    await turn.assemble(ask([user("a")], 0, { signal: run.signal }));
    expect(told).toEqual([
      [false, true, false],
      [true, true, true],
    ]);
  });

  it("does not delay a stop of the gateway by its maintenance", async () => {
    const stop = new AbortController();
    const told: (AbortSignal | undefined)[] = [];
    const maintain: ContextEngine["maintain"] = ({ runtimeContext }) => {
      told.push(runtimeContext?.abortSignal);
      return new Promise(() => undefined);
    };
    const on = engineFixture(small({ maintain }));
    await (await on.open({ stopping: stop.signal })).end(ending([user("a"), answer("b")], 0));
    expect(on.background.isBusy(on.options.session.sessionKey)).toBe(true);
    stop.abort();
    await on.background.idle();
    expect(told[0]?.aborted ?? true).toBe(true);
  });

  it("disposes it when no model was asked", async () => {
    const engine = new RecordingEngine();
    const on = engineFixture(engine);
    const turn = await on.open();
    await turn.begin(never);
    await turn.end(undefined);
    await on.background.idle();
    expect(engine.order).toEqual(["bootstrap", "maintain", "dispose"]);
  });

  it("never shows it the host's own notes, nor the host's own messages", async () => {
    // Our types do not have this role, but a transcript file may.
    const note = '{"role":"custom","customType":"openclaw.runtime-context","content":"secret","timestamp":1}';
    const engine = new RecordingEngine();
    const turn = await engineFixture(engine).open();
    const messages: ChatMessage[] = [...turns(1), JSON.parse(note), user("now")];
    const before = structuredClone(messages);
    await turn.assemble(ask(messages, 3));
    expect(engine.last<AssembleParams>("assemble")).toMatchObject({ prePromptMessageCount: 2 });
    expect(messages).toEqual(before);
  });

  it("never shows it the host's own notes as a transcript has them", async () => {
    const line = (type: string, fields: object) =>
      JSON.stringify({ type, timestamp: "2026-01-01T00:00:00.000Z", ...fields });
    const note = { customType: "openclaw.runtime-context", content: "secret", display: false };
    const said = { role: "user", content: "hello", timestamp: 1 };
    const rows = [
      line("custom_message", { id: "a", parentId: null, ...note }),
      line("custom_message", { id: "b", parentId: "a", ...note, customType: "plugin.note", content: "for all" }),
      line("message", { id: "c", parentId: "b", message: said }),
    ].flatMap((text) => {
      const read = parseLine(text, 0);
      const message = read.kind === "entry" && read.link.entry ? messageOf(read.link.entry) : undefined;
      return message ? [message] : [];
    });
    expect(rows.map(textOf)).toEqual(["secret", "for all", "hello"]);
    const engine = new RecordingEngine();
    const turn = await engineFixture(engine).open();
    await turn.assemble(ask(rows, 2));
    await turn.end(ending(rows, 2));
    const [asked, told] = ["assemble", "afterTurn"].map((method) => engine.last(method));
    for (const params of [asked, told]) expect(JSON.stringify(params?.["messages"])).not.toContain("secret");
    expect(asked).toMatchObject({ prePromptMessageCount: 1 });
  });

  it("does not have it keep a prompt that the transcript does not keep", async () => {
    const seen: string[] = [];
    const announced = user("a child ended", {
      provenance: { kind: "inter_session", sourceTool: "subagent_announce" },
      internalEvents: [EVENT],
    });
    const on = engineFixture(
      small({ ingest: async ({ message }) => (seen.push(textOf(message)), { ingested: true }) }),
    );
    const turn = await on.open({ turn: { key: "entry-1" } });
    await turn.end(ending([announced, answer("told")], 0));
    const usual = await on.open();
    await usual.end(ending([user("hello"), answer("hi")], 0));
    await on.background.idle();
    expect(seen).toEqual(["told", "hello", "hi"]);
  });

  it("does without afterTurn: a batch, or message by message", async () => {
    const seen: string[] = [];
    const history = [...turns(1), user("a"), answer("b")];
    const one = await engineFixture(
      small({ ingest: async ({ message }) => (seen.push(textOf(message)), { ingested: true }) }),
    ).open();
    await one.end(ending(history, 2));
    expect(seen).toEqual(["a", "b"]);
    const batch = await engineFixture(
      small({ ingestBatch: async ({ messages }) => (seen.push(`${messages.length}`), { ingestedCount: 2 }) }),
    ).open();
    await batch.end(ending(history, 2));
    expect(seen).toEqual(["a", "b", "2"]);
  });

  it("commits the turn of an engine that wants it, under one name for ever", async () => {
    const keys: string[] = [];
    const engine = small({
      info: {
        id: "small",
        name: "Small",
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
      commitTurn: async ({ advancementKey, messages }) => {
        const status = keys.includes(advancementKey) ? "duplicate" : "committed";
        keys.push(advancementKey);
        expect(messages.map(textOf)).toEqual(["a", "b"]);
        return { status };
      },
      ingest: async () => {
        throw new Error("it was told by commitTurn");
      },
    });
    const on = engineFixture(engine);
    for (let boot = 0; boot < 2; boot += 1) {
      const turn = await on.open();
      await turn.end(ending([...turns(1), user("a"), answer("b")], 2));
    }
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(on.log.lines).toEqual([]);
  });

  it("does maintenance after the reply, once at a time for a session", async () => {
    let atWork = 0;
    let most = 0;
    const gate = Promise.withResolvers<undefined>();
    const maintain = async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await gate.promise;
      atWork -= 1;
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    };
    const on = engineFixture(small({ maintain }));
    for (let run = 0; run < 3; run += 1) await (await on.open()).end(ending([user("a"), answer("b")], 0));
    const next = await on.open();
    await next.begin(never);
    expect(on.background.isBusy(on.options.session.sessionKey)).toBe(true);
    gate.resolve(undefined);
    await on.background.idle();
    expect(most).toBe(1);
  });
});

describe("what an engine receives of a conversation", () => {
  it("is the transcript after the summary, with the messages of the loop since then", () => {
    const provenance = { kind: "inter_session", sourceTool: "sessions_send" } as const;
    const said = [
      user("a"),
      answer("b", "functions.exec:0"),
      result("functions.exec:0", "c"),
      user("d", { provenance }),
    ];
    const rows = said.map((message, at) => ({ entryId: `${at}`, message }));
    const window = { messages: rows, estimatedTokens: 1, older: false };
    expect(transcriptPart(window, "3")).toEqual({ messages: said, before: 3 });
    const part = transcriptPart({ ...window, summary: "They met." }, "3");
    expect(part.before).toBe(4);
    expect(part.messages.slice(1)).toEqual(said);
    expect(textOf(part.messages[0]!)).toContain("They met.");
    const next = answer("e");
    expect(withSaid(part, [user("joined"), next], 1)).toEqual([...part.messages, next]);
    expect(withSaid(part, [user("joined")], 1)).toBe(part.messages);
    expect(transcriptPart(window, "gone").before).toBe(4);
  });
});

describe("the provider's cache", () => {
  it("is compared with the turn before", async () => {
    const engine = new RecordingEngine();
    const on = engineFixture(engine);
    const cache = new CacheWatch();
    const saw = async (cacheRead: number, model = MODEL) => {
      const turn = await on.open({ cache });
      const end = ending([user("a"), answer("b")], 0);
      await turn.end({ ...end, model, lastCallUsage: { ...emptyUsage(), cacheRead } });
      return engine.last<AfterTurnParams>("afterTurn").runtimeContext?.promptCache?.observation;
    };
    expect(await saw(50_000)).toBeUndefined();
    expect(await saw(49_500)).toMatchObject({
      broke: false,
      previousCacheRead: 50_000,
      cacheRead: 49_500,
      changes: [],
    });
    expect(await saw(0, { ...MODEL, id: "other" })).toEqual({
      broke: true,
      previousCacheRead: 49_500,
      cacheRead: 0,
      changes: [{ code: "model", detail: "anthropic/claude-sonnet-4-5 -> anthropic/other" }],
    });
  });
});

describe("what the model sees", () => {
  const history = turns(2);
  const asked = user("look at it");

  it("has the user's turn once, whether the engine says it again or not", async () => {
    for (const said of [history, [...history, asked], [...history, user("look at it "), user("A hint.")]]) {
      const turn = await engineFixture(
        small({ assemble: async () => ({ messages: said, estimatedTokens: 1 }) }),
      ).open();
      const shown = await turn.assemble(ask([...history, asked], 4));
      expect(shown?.messages.filter((message) => textOf(message).trim() === "look at it")).toEqual([asked]);
      expect(shown?.messages.at(-1)).toBe(asked);
    }
  });

  it("has the engine's shorter form of a long tool loop, with what the user wrote and the last results", async () => {
    const [first, big, second, last] = [
      answer("one", "c1"),
      result("c1", "x".repeat(1000)),
      answer("two", "c2"),
      result("c2", "y"),
    ];
    const cut = result("c1", "cut");
    const loop = [...history, asked, first, big, second, last];
    const engine = (messages: ChatMessage[]) =>
      small({
        info: { id: "small", name: "Small", ownsCompaction: true },
        assemble: async () => ({ messages, estimatedTokens: 1 }),
      });
    const shorter = await engineFixture(engine([user("summary"), first, cut, second, last])).open();
    const shown = await shorter.reassemble(ask(loop, 4));
    expect(shown?.messages.map(textOf)).toEqual(["summary", "look at it", "one", "cut", "two", "y"]);

    const lossy = await engineFixture(engine([user("summary"), asked, first, cut])).open();
    const whole = await lossy.reassemble(ask(loop, 4));
    expect(whole?.messages.map(textOf).slice(1)).toEqual(loop.slice(4).map(textOf));
  });

  it("keeps what the engine does not know of: where a turn came from, and that an answer was cut off", async () => {
    const provenance = { kind: "inter_session", sourceTool: "sessions_send", sourceSessionKey: "main::coder" } as const;
    const broken = { ...answer("the first half"), stopReason: "error" as const, errorMessage: "cut" };
    const said = [user("yes"), answer("a"), user("yes", { provenance }), broken, askForRest(5), answer("the rest")];
    const ways: Record<string, (params: AssembleParams) => Promise<unknown>> = {
      "as they are": async ({ messages }) => ({ messages, estimatedTokens: 1 }),
      "words alone": async ({ messages }) => ({
        messages: messages.map(({ role, content }) => ({ role, content })),
        estimatedTokens: 1,
      }),
      "the newer ones": async ({ messages }) => ({ messages: messages.slice(2), estimatedTokens: 1 }),
    };
    for (const [way, assemble] of Object.entries(ways)) {
      const turn = await engineFixture(uncheckedEngine(small(), { assemble })).open();
      const shown = await turn.assemble(ask([...said, asked], 6));
      const expected = way === "the newer ones" ? said.slice(2) : said;
      expect(shown?.messages, way).toEqual([...expected, asked]);
    }
    const stored = [{ role: "user", content: "stored in other words", provenance, timestamp: 1 } as const];
    const turn = await engineFixture(
      small({ assemble: async () => ({ messages: stored, estimatedTokens: 1 }) }),
    ).open();
    expect((await turn.assemble(ask([...said, asked], 6)))?.messages).toEqual([...stored, asked]);
  });

  it("counts what the engine adds to the system prompt", async () => {
    const addition = "word ".repeat(180_000);
    const engine = small({
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 1, systemPromptAddition: addition }),
    });
    const turn = await engineFixture(engine).open();
    expect(await turn.assemble(ask([...turns(2), user("now")], 4))).toBeUndefined();
    expect(turn.degraded).toMatch(/its systemPromptAddition 225000 of \d+ tokens/);
  });

  it("begins with what the engine adds to the system prompt", async () => {
    const assemble: ContextEngine["assemble"] = async ({ messages }) => ({
      messages,
      estimatedTokens: 7000,
      systemPromptAddition: "Use lcm_grep.",
    });
    const turn = await engineFixture(small({ assemble })).open();
    expect(await turn.assemble(ask([...history, asked], 4))).toMatchObject({
      systemAddition: "Use lcm_grep.",
      estimatedTokens: 7000,
    });
  });
});

describe("an engine that fails", () => {
  const history = turns(2);
  const messages = [...history, user("look")];
  const hang = () => new Promise<never>(() => undefined);
  const broken = () => Promise.reject(new Error("disk on fire"));

  it("and hangs is waited for as long as configured, and not asked again", async () => {
    let calls = 0;
    const on = engineFixture(small({ assemble: () => ((calls += 1), hang()), afterTurn: hang }));
    const turn = await on.open();
    expect(await on.clock.until(turn.assemble(ask(messages, 4)))).toBe(15_000);
    expect(turn.degraded).toContain("no answer within 15000 ms");
    expect(await on.clock.until(turn.end(ending(messages, 4)))).toBe(0);
    expect(calls).toBe(1);
    expect(on.clock.waiting).toBe(0);
  });

  it("has a longer cooldown each time it hangs, so that not every turn waits for it", async () => {
    let answers = false;
    let calls = 0;
    const assemble = async () => ((calls += 1), answers ? { messages: history, estimatedTokens: 9 } : hang());
    const on = engineFixture(small({ assemble }));
    const cooldowns = new EngineCooldowns(on.clock);
    /** Milliseconds that a turn waits for its engine. */
    const turn = async () => {
      const opened = await on.open({ cooldowns });
      const waited = await on.clock.until(opened.assemble(ask(messages, 4)));
      await opened.end(ending(messages, 4));
      return { waited, degraded: opened.degraded };
    };
    const pass = (minutes: number) => on.clock.until(new Promise<void>((go) => on.clock.after(minutes * 60_000, go)));
    expect((await turn()).waited).toBe(15_000);
    expect(await turn()).toEqual({
      waited: 0,
      degraded: expect.stringContaining("small was skipped: it hung before"),
    });
    for (const minutes of [1, 5, 25, 60]) {
      await pass(minutes - 0.5);
      expect((await turn()).waited).toBe(0);
      await pass(0.5);
      expect((await turn()).waited).toBe(15_000);
    }
    await pass(60);
    answers = true;
    const [probe, beside] = [await on.open({ cooldowns }), await on.open({ cooldowns })];
    expect(beside.degraded).toContain("is in cooldown until");
    await probe.assemble(ask(messages, 4));
    await probe.end(ending(messages, 4));
    expect(await turn()).toEqual({ waited: 0, degraded: undefined });
    expect(calls).toBe(7);
  });

  it.each([true, false])("and cooldowns keeps its compaction to itself: %s", async (ownsCompaction) => {
    const on = engineFixture(small({ info: { id: "small", name: "Small", ownsCompaction }, assemble: hang }));
    const cooldowns = new EngineCooldowns(on.clock);
    const first = await on.open({ cooldowns });
    await on.clock.until(first.assemble(ask(messages, 4)));
    await first.end(ending(messages, 4));
    const resting = await on.open({ cooldowns });
    expect(resting.ownsCompaction).toBe(ownsCompaction);
    expect(await resting.compact(compaction("overflow"))).toMatchObject({ kind: ownsCompaction ? "nothing" : "done" });
    expect(on.builtIn).toHaveLength(ownsCompaction ? 0 : 1);
  });

  it("has a cooldown too when it hangs in the maintenance before a turn", async () => {
    const on = engineFixture(small({ maintain: hang }));
    const cooldowns = new EngineCooldowns(on.clock);
    const first = await on.open({ cooldowns });
    expect(await on.clock.until(first.begin(never))).toBe(60_000);
    expect(await first.assemble(ask(messages, 4))).toBeDefined();
    expect((await on.open({ cooldowns })).degraded).toContain("is in cooldown until");
  });

  it("and hangs in the tool loop is skipped for the rest, and its compaction with it", async () => {
    const info = { id: "small", name: "Small", ownsCompaction: true };
    const on = engineFixture(small({ info, afterTurn: hang }));
    const turn = await on.open();
    expect((await turn.assemble(ask(messages, 4)))?.messages).toHaveLength(5);
    const loop = [...messages, answer("looking", "c1"), result("c1", "found")];
    expect(await on.clock.until(turn.reassemble(ask(loop, 4)))).toBe(60_000);
    expect(turn.degraded).toContain("hung");
    expect(turn.ownsCompaction).toBe(true);
    expect(await turn.compact(compaction("overflow"))).toEqual({ kind: "nothing", reason: turn.degraded });
    expect(on.builtIn).toEqual([]);
  });

  it("in bootstrap is skipped, and its compaction with it", async () => {
    const on = engineFixture(small({ info: { id: "small", name: "Small", ownsCompaction: true }, bootstrap: broken }));
    const turn = await on.open();
    await turn.begin(never);
    expect(turn.degraded).toContain("bootstrap: disk on fire");
    expect(await turn.reassemble(ask(messages, 4))).toBeUndefined();
    for (const why of ["overflow", "asked"] as const)
      expect(await turn.compact(compaction(why))).toEqual({ kind: "nothing", reason: turn.degraded });
    expect(on.builtIn).toEqual([]);
    const guest = engineFixture(small({ bootstrap: broken }));
    const other = await guest.open();
    await other.begin(never);
    expect(await other.compact(compaction("overflow"))).toMatchObject({ kind: "done", tokensAfter: 100 });
  });

  it("after the reply is logged, and changes nothing else", async () => {
    const on = engineFixture(small({ afterTurn: broken, maintain: broken, dispose: hang }));
    const turn = await on.open();
    await turn.assemble(ask(messages, 4));
    await turn.end(ending(messages, 4));
    expect(await on.clock.until(on.background.idle())).toBe(5000);
    expect(turn.degraded).toBeUndefined();
    expect(on.log.lines.map((line) => [line["code"], line["method"]])).toEqual([
      ["ENGINE_FAILED", "afterTurn"],
      ["ENGINE_FAILED", "maintain"],
      ["ENGINE_FAILED", "dispose"],
    ]);
  });
});

describe("compaction", () => {
  it("is the engine's when it is asked for or the window overflows, with the reason in its words", async () => {
    const asked: CompactParams[] = [];
    const on = engineFixture(
      small({
        compact: async (params) => (
          asked.push(params),
          { ok: true, compacted: true, result: { tokensBefore: 90, tokensAfter: 20 } }
        ),
      }),
    );
    const turn = await on.open();
    const done = { kind: "done", tokensBefore: 90, tokensAfter: 20 };
    expect(await turn.compact({ ...compaction("asked"), instructions: "keep names" })).toEqual(done);
    expect(await turn.compact(compaction("overflow"))).toEqual(done);
    expect(asked).toMatchObject([
      {
        force: true,
        forceReason: "manual",
        compactionTarget: "threshold",
        customInstructions: "keep names",
        tokenBudget: 100_000,
        currentTokenCount: 90_000,
        runtimeContext: { trigger: "manual", forceReason: "manual", manualCompaction: true, tokenBudget: 100_000 },
      },
      { force: true, compactionTarget: "budget", runtimeContext: { trigger: "overflow" } },
    ]);
    expect(asked[0]?.abortSignal).toBeInstanceOf(AbortSignal);
    expect(on.builtIn).toEqual([]);
  });

  it("by an engine that does not say how much it saved has no made-up figures", async () => {
    const turn = await engineFixture(small({ compact: async () => ({ ok: true, compacted: true }) })).open();
    expect(await turn.compact(compaction("asked"))).toEqual({ kind: "done" });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["no", { ok: false, compacted: false, reason: "missing token budget" }],
    ["that nothing shrank", { ok: true, compacted: true, result: { tokensBefore: 90, tokensAfter: 90 } }],
  ])("by an engine that answers %s ends the series", async (_, said) => {
    const turn = await engineFixture(uncheckedEngine(small(), { compact: async () => said })).open();
    expect(await turn.compact(compaction("overflow"))).toMatchObject({ kind: "nothing" });
  });

  it("by an engine that throws or hangs ends within its time", async () => {
    const on = engineFixture(small({ compact: () => new Promise(() => undefined) }));
    const turn = await on.open();
    const done = turn.compact(compaction("asked"));
    expect(await on.clock.until(done)).toBe(180_000);
    expect(await done).toMatchObject({ kind: "nothing", reason: expect.stringContaining("180000 ms") });
  });

  it("is handed back by the SDK's free function, to the session that it names", async () => {
    const engine = small({ compact: (params) => delegateCompactionToRuntime(params) });
    const on = engineFixture(engine);
    expect(await delegateCompactionToRuntime({ sessionId: "x", sessionFile: "x" })).toMatchObject({ ok: false });
    const forget = setPluginHost({
      keys: keyNames(() => DEFAULT_AGENT),
      compact: (params) => on.desk.compact(params),
      memoryPrompt: () => [],
      hooksOf: () => [],
      commandNames: () => [],
      config: () => ({}),
    });
    const turn = await on.open();
    expect(await turn.compact({ ...compaction("asked"), instructions: "short" })).toEqual({
      kind: "done",
      tokensBefore: 1000,
      tokensAfter: 100,
    });
    expect(on.builtIn).toMatchObject([{ why: "asked", instructions: "short", model: MODEL }]);
    await turn.end(ending([user("a")], 0));
    const { sessionId, sessionFile } = on.options.session;
    expect(await delegateCompactionToRuntime({ sessionId, sessionFile })).toMatchObject({ ok: false });
    forget();
  });
});

describe("the engine of the slot", () => {
  it("costs nothing when it is the one that ships", async () => {
    const on = engineFixture(small());
    const turn = await on.open({ id: "legacy" });
    const messages = turns(2);
    await turn.begin(never);
    expect(await turn.assemble(ask(messages, 2))).toBeUndefined();
    expect(turn).toMatchObject({ id: "legacy", ownsCompaction: false, degraded: undefined });
    expect(await turn.compact(compaction("overflow"))).toMatchObject({ kind: "done" });
    await turn.end(ending(messages, 2));
    expect(on.background.isBusy(on.options.session.sessionKey)).toBe(false);
  });

  it("is never replaced by another: a run without it fails and says what to do", async () => {
    const on = engineFixture(small());
    await expect(on.open({ id: "gone" })).rejects.toMatchObject({
      code: "ENGINE_MISSING",
      fix: expect.stringMatching(/^Install and enable its plugin.*plugins\.slots\.contextEngine/),
    });
    const why = "its plugin is not loaded: its register failed";
    await expect(on.open({ engines: { get: () => undefined, whyMissing: () => why } })).rejects.toMatchObject({
      message: expect.stringContaining(why),
      fix: expect.stringMatching(/^Mend or update its plugin/),
    });
    const engines = (made: unknown) => ({
      get: () => Promise.resolve(() => made as ContextEngine),
      whyMissing: () => undefined,
    });
    const wrong = [
      undefined,
      { ...small(), info: { id: "other", name: "Other" } },
      { ...small(), assemble: undefined },
      { info: { id: "small", name: "" } },
      Promise.reject(new Error("no database")),
    ];
    for (const made of wrong)
      await expect(on.open({ engines: engines(made) })).rejects.toMatchObject({ code: "ENGINE_UNUSABLE" });
    await expect(
      on.open({ engines: { get: () => Promise.reject(new Error("not built")), whyMissing: () => undefined } }),
    ).rejects.toMatchObject({
      message: expect.stringContaining("not built"),
    });
  });

  it("fails closed on what this gateway cannot do, in the engine's words; subagents are not refused", async () => {
    const needs = (requiredCapabilities: string[], on: "agent-run" | "subagent-spawn" = "agent-run") =>
      engineFixture(
        small({
          info: {
            id: "small",
            name: "Small",
            hostRequirements: { [on]: { requiredCapabilities, unsupportedMessage: "Update the host." } },
          },
        }),
      ).open();
    await expect(needs(["bootstrap", "time-travel"])).rejects.toMatchObject({
      message: expect.stringContaining("Update the host."),
    });
    const all = ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact", "runtime-llm-complete"];
    expect((await needs(all)).id).toBe("small");
    expect((await needs(["thread-bootstrap-projection"], "subagent-spawn")).id).toBe("small");
  });

  it("is found by the id that it was registered under", async () => {
    const added = new Contributions([
      { id: "small-plugin", register: (registry) => registry.addContextEngine("small", () => small()) },
    ]);
    const loaded = await loadConfig({ path: "/nonexistent/openclaw.json", env: {} });
    const engines = enginesIn({ contributions: added, loaded });
    const on = engineFixture(small());
    expect((await on.open({ engines })).id).toBe("small");
    added.remove("small-plugin");
    await expect(on.open({ engines })).rejects.toMatchObject({ code: "ENGINE_MISSING" });
  });
});
