import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect as plain } from "vitest";
import { wireKey } from "../../../src/sessions/keys.ts";
import { entriesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import {
  cachedAnswer,
  FUNCTION,
  ofEngine,
  RECORDER,
  recordedBy,
  type RecordedCall,
  SIGNAL,
  TOO_LONG,
  UNDEFINED,
} from "../../kit/plugins/recorder.ts";
import { until } from "../../kit/until.ts";
import type { GatewayUnderTest, Home } from "../../kit/gateway/process.ts";

interface Started {
  readonly home: Home;
  readonly gateway: GatewayUnderTest;
}

/** Starts a gateway into which the recorder was installed from its folder. */
async function startWith(world: World, config: object): Promise<Started> {
  const home = await world.home(world.config({ plugins: { entries: { recorder: { config } } } }));
  const done = await home.run(["plugins", "install", RECORDER, "--accept-capabilities"]);
  plain(done.stdout).toContain('Exclusive slot "contextEngine" switched from "legacy" to "recorder".');
  return { home, gateway: await home.start() };
}

/** Says something in the chat; gives the calls of the engine until it is released again. */
async function turn({ telegram }: World, home: Home, text: string): Promise<readonly RecordedCall[]> {
  const before = { shown: telegram.shown(1001).length, calls: recordedBy(home).length };
  telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await telegram.waitFor(() => telegram.shown(1001).length > before.shown);
  const calls = () => ofEngine(recordedBy(home).slice(before.calls));
  await until(() => calls().at(-1)?.call === "dispose");
  return calls();
}

const named = (calls: readonly RecordedCall[], name: string) => calls.filter(({ call }) => call === name);
const namesOf = (calls: readonly RecordedCall[]) => calls.map(({ call }) => call);

function script({ model }: World): void {
  let refused = 0;
  model.answer((call) => {
    if (call.system.startsWith("Summarise.")) return { text: `summary of ${call.said}` };
    if (call.said.includes("overflow") && refused++ === 0) return TOO_LONG;
    if (call.said.includes("cached")) return cachedAnswer("from the cache", { prompt: 3000, cached: 2000 });
    if (call.said.includes("note") && !call.isAfterTool) return { tool: "recorder_note", args: { word: "milk" } };
    return { text: "well" };
  });
}

/** The figures of a gateway that the table below names. */
function factsOf(home: Home) {
  const [first] = Object.entries(sessionsOf(home));
  if (!first) throw new Error("there is no session");
  const [key, { sessionId }] = first;
  const sessionKey = wireKey(key);
  const workspace = join(home.stateDir, "workspace");
  return { sessionKey, sessionId, sessionFile: join(home.stateDir, "sessions", `${sessionId}.jsonl`), workspace };
}

const CONFIG = plain.objectContaining({
  agents: plain.objectContaining({
    defaults: plain.objectContaining({ model: plain.objectContaining({ primary: "fake/fake-1" }) }),
  }),
});
const NO_CACHE = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, total: 15 };
const WINDOW = 100_000;
const RESERVE = 20_000;

/** The table: what each call gets, every field of it. A call that is about no model has no model's facts. */
function table({ sessionKey, sessionId, sessionFile, workspace }: ReturnType<typeof factsOf>) {
  const session = { sessionId, sessionKey, runtimeSettings: { executionHost: { id: "openclaw-embedded" } } };
  const context = {
    config: CONFIG,
    cwd: workspace,
    workspaceDir: workspace,
    agentHarnessId: "openclaw-embedded",
    sessionKey,
    agentId: "main",
    abortSignal: SIGNAL,
    llm: { complete: FUNCTION },
    rewriteTranscriptEntries: FUNCTION,
  };
  const ofModel = { ...context, provider: "fake", model: "fake-1", authProfileId: "fake:config" };
  const ofTurn = {
    ...ofModel,
    tokenBudget: WINDOW,
    currentTokenCount: 15,
    usage: NO_CACHE,
    promptCache: plain.objectContaining({ retention: "none", lastCallUsage: NO_CACHE }),
  };
  const transcript = { ...session, sessionFile };
  const budget = plain.any(Number);
  const signals = (count: number) => ({
    prePromptMessageCount: plain.any(Number),
    inputProvenance: Array.from({ length: count }, () => UNDEFINED),
    internalEvents: Array.from({ length: count }, () => UNDEFINED),
    currentTokenCount: plain.any(Number),
    messages: plain.objectContaining({ length: count }),
  });
  return {
    factory: { config: CONFIG, agentDir: workspace, workspaceDir: workspace },
    bootstrap: { ...transcript, runtimeContext: context },
    /** After `bootstrap`. */
    maintain: { ...transcript, runtimeContext: context },
    /** Before the first call of a model. */
    assemble: (count: number) => ({
      ...session,
      ...signals(count),
      tokenBudget: budget,
      model: "fake-1",
      prompt: plain.stringContaining("1001"),
      availableTools: { $set: plain.arrayContaining(["read", "recorder_note"]) },
      citationsMode: "auto",
      runtimeContext: { ...ofModel, tokenBudget: budget },
    }),
    /** Between the calls of a tool loop. */
    assembleInLoop: (count: number) => ({
      ...session,
      ...signals(count),
      tokenBudget: budget,
      model: "fake-1",
      runtimeContext: { ...ofModel, tokenBudget: budget },
    }),
    afterTurnInLoop: (count: number, from: number) => ({
      ...transcript,
      isHeartbeat: false,
      tokenBudget: WINDOW,
      prePromptMessageCount: from,
      messages: plain.objectContaining({ length: count }),
      runtimeContext: { ...ofModel, tokenBudget: WINDOW },
    }),
    afterTurn: (count: number, from: number) => ({
      ...transcript,
      isHeartbeat: false,
      tokenBudget: WINDOW,
      currentTokenCount: 15,
      prePromptMessageCount: from,
      messages: plain.objectContaining({ length: count }),
      runtimeContext: ofTurn,
    }),
    commitTurn: (count: number, from: number) => ({
      ...transcript,
      isHeartbeat: false,
      advancementKey: plain.stringMatching(new RegExp(`^${sessionId}:.+`)),
      prePromptMessageCount: from,
      messages: plain.objectContaining({ length: count }),
      runtimeContext: ofTurn,
    }),
    maintainAfter: { ...transcript, runtimeContext: { ...ofTurn, allowDeferredCompactionExecution: true } },
    compactManually: {
      ...transcript,
      abortSignal: SIGNAL,
      force: true,
      forceReason: "manual",
      compactionTarget: "threshold",
      tokenBudget: WINDOW,
      customInstructions: "keep names",
      runtimeContext: {
        ...ofModel,
        tokenBudget: WINDOW,
        trigger: "manual",
        forceReason: "manual",
        manualCompaction: true,
      },
    },
    compactOverflow: {
      ...transcript,
      abortSignal: SIGNAL,
      force: true,
      compactionTarget: "budget",
      tokenBudget: budget,
      currentTokenCount: plain.any(Number),
      runtimeContext: {
        ...ofModel,
        tokenBudget: budget,
        currentTokenCount: plain.any(Number),
        trigger: "overflow",
      },
    },
  };
}

/** The calls of a turn whose first request does not fit. */
const OVERFLOW = ["factory", "bootstrap", "maintain", "assemble", "compact", "assemble"];

/** The calls have these names in this order, and exactly these parameters. */
function expectCalls(calls: readonly RecordedCall[], rows: readonly (readonly [string, unknown])[]): void {
  plain(namesOf(calls)).toEqual(rows.map(([name]) => name));
  for (const [at, [name, params]] of rows.entries())
    plain(calls[at]?.params, `${name}, call ${at + 1}`).toEqual(params);
}

/** What the engine was given is what the file has, in form and order. */
function expectFlushed({ params, transcript = [] }: RecordedCall): void {
  const inFile = transcript.map(({ role, content }) => ({ role, content }));
  const given = params.messages?.map(({ role, content }) => ({ role, content })) ?? [];
  plain(inFile.slice(-given.length)).toEqual(given);
}

test.concurrent("an engine that leaves compaction to the gateway is called as the field's host calls it", async ({
  world,
  expect,
}) => {
  const { home, gateway } = await startWith(world, { completes: true });
  script(world);
  const first = await turn(world, home, "hello");
  const t = table(factsOf(home));
  expectCalls(first, [
    ["factory", t.factory],
    ["assemble", t.assemble(1)],
    ["afterTurn", t.afterTurn(2, 0)],
    ["maintain", t.maintainAfter],
    ["dispose", {}],
  ]);
  expectFlushed(named(first, "afterTurn")[0]!);
  const { tokenBudget } = named(first, "assemble")[0]!.params;
  const { system, tools } = world.model.calls[0]!;
  const fixed = (system.length + JSON.stringify(tools).length) / 4;
  expect(Math.abs(Number(tokenBudget) - (WINDOW - RESERVE - fixed))).toBeLessThan(500);

  const second = await turn(world, home, "note it");
  expectCalls(second, [
    ["factory", t.factory],
    ["bootstrap", t.bootstrap],
    ["maintain", t.maintain],
    ["assemble", t.assemble(3)],
    ["afterTurn", t.afterTurn(6, 2)],
    ["maintain", t.maintainAfter],
    ["dispose", {}],
  ]);
  const [end] = named(second, "afterTurn");
  expectFlushed(end!);
  expectMessageShapes(end!);
  const file = factsOf(home).sessionFile;
  expectTranscriptShape(file, factsOf(home));

  const cached = await turn(world, home, "cached, please");
  const { promptCache, usage } = named(cached, "afterTurn")[0]!.params.runtimeContext!;
  const read = { input: 1000, output: 5, cacheRead: 2000, cacheWrite: 0, total: 3005 };
  expect(usage).toEqual(read);
  expect(promptCache).toEqual({
    retention: "short",
    lastCallUsage: read,
    observation: { broke: false, previousCacheRead: 0, cacheRead: 2000, changes: [] },
    lastCacheTouchAt: expect.any(Number),
    expiresAt: expect.any(Number),
  });

  const manual = await turn(world, home, "/compact keep names");
  expectCalls(manual, [
    ["factory", t.factory],
    ["bootstrap", t.bootstrap],
    ["maintain", t.maintain],
    ["compact", t.compactManually],
    ["dispose", {}],
  ]);
  await turn(world, home, "and now?");
  expect(JSON.stringify(world.model.calls.findLast(({ said }) => said.includes("and now"))?.messages)).toMatch(
    /SUMMARY OF THE RECORDER(?!.*hello)/,
  );

  const overflow = await turn(world, home, "overflow now");
  expect(namesOf(overflow)).toEqual([...OVERFLOW, "afterTurn", "maintain", "dispose"]);
  expect(named(overflow, "compact")[0]?.params).toEqual(t.compactOverflow);
  expect(world.telegram.shown(1001).at(-1)).toBe("well");

  await until(() => named(recordedBy(home), "bound completion").length === 5);
  for (const name of ["unbound completion", "bound completion"])
    expect(named(recordedBy(home), name)[0]?.params).toEqual({
      text: "summary of the turn",
      provider: "fake",
      model: "fake-1",
      agentId: "main",
      usage: NO_CACHE,
    });
  const summary = world.model.calls.find((call) => call.system.startsWith("Summarise."));
  expect(summary).toMatchObject({ said: "the turn", maxTokens: 64 });
  expect(gateway.lines.filter(({ code }) => String(code).startsWith("ENGINE_"))).toEqual([]);
});

test.concurrent("an engine that owns compaction and commits turns is called as the field's host calls it", async ({
  world,
  expect,
}) => {
  const { home, gateway } = await startWith(world, { owns: true, commits: true, estimate: 95_000 });
  script(world);
  await turn(world, home, "hello");
  const t = table(factsOf(home));
  const calls = await turn(world, home, "note it");
  expectCalls(calls, [
    ["factory", t.factory],
    ["bootstrap", t.bootstrap],
    ["maintain", t.maintain],
    ["assemble", t.assemble(3)],
    ["afterTurn", t.afterTurnInLoop(5, 2)],
    ["assemble", t.assembleInLoop(5)],
    ["commitTurn", t.commitTurn(4, 2)],
    ["afterTurn", t.afterTurn(6, 5)],
    ["maintain", t.maintainAfter],
    ["dispose", {}],
  ]);
  for (const call of named(calls, "afterTurn")) expectFlushed(call);
  // Its estimate is above every threshold of the gateway, which asks no model for a summary.
  expect(world.model.calls.filter(({ system }) => system.startsWith("You write the memory"))).toEqual([]);
  const overflow = await turn(world, home, "overflow now");
  expect(namesOf(overflow)).toEqual([...OVERFLOW, "commitTurn", "afterTurn", "maintain", "dispose"]);
  expect(named(overflow, "compact")[0]?.params).toEqual(t.compactOverflow);
  expect(entriesOf(factsOf(home).sessionFile).some(({ type }) => type === "compaction")).toBe(false);

  await surroundings(world, { home, gateway });
  expect(await gateway.kill()).toBe(0);
  expect(named(recordedBy(home), "gateway_stop")).toHaveLength(1);
});

const ISO = plain.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

function expectTranscriptShape(file: string, { sessionId }: ReturnType<typeof factsOf>): void {
  const [header, ...entries] = entriesOf(file);
  plain(header).toMatchObject({ type: "session", version: 3, id: sessionId, timestamp: ISO, cwd: "../workspace" });
  const ids = entries.map(({ id }) => id);
  plain(new Set(ids).size).toBe(entries.length);
  plain(entries.map(({ parentId }) => parentId)).toEqual([null, ...ids.slice(0, -1)]);
  for (const entry of entries) plain(entry).toMatchObject({ id: plain.stringMatching(/./), timestamp: ISO });
}

function expectMessageShapes({ params }: RecordedCall): void {
  const [user, call, result] = params.messages?.slice(2) ?? [];
  const time = plain.any(Number);
  const answered = {
    role: "assistant",
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    usage: plain.objectContaining({ input: 10, output: 5, totalTokens: 15 }),
    responseId: plain.stringMatching(/^fake-/),
    timestamp: time,
  };
  const id = plain.stringMatching(/^call_/);
  plain(user).toEqual({
    role: "user",
    content: [{ type: "text", text: plain.stringContaining("note it") }],
    timestamp: time,
  });
  plain(call).toEqual({
    ...answered,
    stopReason: "toolUse",
    content: [{ type: "toolCall", id, name: "recorder_note", arguments: { word: "milk" } }],
  });
  plain(result).toEqual({
    role: "toolResult",
    toolCallId: id,
    toolName: "recorder_note",
    content: [{ type: "text", text: "noted milk" }],
    details: { callId: id, isError: false },
    isError: false,
    timestamp: time,
  });
}

/** What is not the engine: registration, tools, commands, and the ends of conversations. */
async function surroundings(world: World, { home, gateway }: Started): Promise<void> {
  const { sessionKey, sessionId, sessionFile, workspace } = factsOf(home);
  const all = () => recordedBy(home);
  const registration = {
    id: "recorder",
    pluginConfig: { owns: true, commits: true, estimate: 95_000 },
    agents: plain.objectContaining({ defaults: plain.anything() }),
    source: join(home.stateDir, "extensions", "recorder", "index.js"),
    version: plain.stringMatching(/^2026\./),
  };
  // The first one is the trial before the engine is selected, in a process of its own, where it is opened as a run does.
  plain(named(all(), "register").map(({ params }) => params)).toEqual([
    { ...registration, registrationMode: "full", runtimeMode: "full", readOnly: false },
    { ...registration, registrationMode: "full", runtimeMode: "full", readOnly: false },
  ]);
  plain(named(all(), "gateway_start")).toHaveLength(1);
  // Once for each run of a model.
  plain(named(all(), "tool factory")).toHaveLength(named(all(), "before_prompt_build").length);
  plain(named(all(), "tool factory")[0]?.params).toEqual({
    config: CONFIG,
    workspaceDir: workspace,
    agentDir: workspace,
    agentId: "main",
    sessionKey,
    sessionId,
    messageChannel: "telegram",
    agentAccountId: "default",
    senderIsOwner: false,
    sandboxed: false,
  });
  plain(named(all(), "before_prompt_build")[0]?.params).toEqual({
    event: { prompt: plain.stringContaining("hello"), messages: [] },
    context: plain.objectContaining({ agentId: "main", sessionKey, sessionId, workspaceDir: workspace }),
  });
  await command(world, "/recorder look");
  plain(named(all(), "command")[0]?.params).toMatchObject({
    args: "look",
    commandBody: "/recorder look",
    sessionId,
    sessionKey,
    agentId: "main",
    config: CONFIG,
    runtimeContext: { llm: { complete: FUNCTION } },
    senderId: "1001",
    channel: "telegram",
  });
  await reset(world, home, "new");
  await reset(world, home, "reset");
  plain(existsSync(sessionFile)).toBe(false);
  await deleted(home, gateway);
}

/** A command that the plugin answers, with its answer. */
async function command({ telegram }: World, text: string): Promise<void> {
  telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await telegram.waitFor(() => telegram.shown(1001).at(-1) === "recorded");
}

/** `/new` or `/reset`: both hooks, the archive, and the new file. */
async function reset(world: World, home: Home, reason: "new" | "reset"): Promise<void> {
  const { sessionKey, sessionId, sessionFile, workspace } = factsOf(home);
  const before = named(recordedBy(home), "session_end").length;
  await turn(world, home, `/${reason}`);
  const calls = recordedBy(home);
  const next = factsOf(home);
  const context = { agentId: "main", sessionKey, sessionId, workspaceDir: workspace };
  const began = named(calls, "before_reset").at(-1)!;
  const messages = began.params.event?.["messages"] as readonly unknown[];
  plain(began.params).toEqual({ event: { sessionFile, messages, reason }, context });
  plain(messages.length).toBeGreaterThan(1);
  plain(began.exists).toBe(true);
  plain(named(calls, "session_end")).toHaveLength(before + 1);
  const end = named(calls, "session_end").at(-1)!;
  plain(end.params).toEqual({
    event: {
      sessionId,
      sessionKey,
      reason,
      messageCount: messages.length,
      sessionFile: plain.stringMatching(/\.jsonl\.reset\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/),
      transcriptArchived: true,
      nextSessionId: next.sessionId,
      nextSessionKey: sessionKey,
    },
    context,
  });
  plain(end.exists).toBe(true);
  plain(named(calls, "session_start").at(-1)?.params.event).toEqual({
    sessionId: next.sessionId,
    sessionKey,
    resumedFrom: sessionId,
  });
  const [header] = entriesOf(next.sessionFile);
  const archivedAt = Date.parse(
    String(end.params.event?.["sessionFile"]).replace(/^.*\.reset\.(.*T)(..)-(..)-/, "$1$2:$3:"),
  );
  plain(header?.id).toBe(next.sessionId);
  plain(Math.abs(Date.parse(String(header?.["timestamp"])) - archivedAt)).toBeLessThan(30_000);
}

async function deleted(home: Home, gateway: GatewayUnderTest): Promise<void> {
  const { sessionKey, sessionId } = factsOf(home);
  const resets = named(recordedBy(home), "before_reset").length;
  await call(gateway, "sessions.delete", { key: sessionKey });
  await until(() => named(recordedBy(home), "session_end").length === 3);
  const end = named(recordedBy(home), "session_end").at(-1)!;
  plain(end.params.event).toEqual({
    sessionId,
    sessionKey,
    reason: "deleted",
    messageCount: 0,
    sessionFile: plain.stringMatching(/\.jsonl\.deleted\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/),
    transcriptArchived: true,
  });
  plain(end.exists).toBe(true);
  plain(named(recordedBy(home), "before_reset")).toHaveLength(resets);
}
