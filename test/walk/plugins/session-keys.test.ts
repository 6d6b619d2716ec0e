import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isHookName } from "../../../src/types/hook/hook-table.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import type { Home } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { sessionsOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";
import { jsonLinesIn } from "../../kit/json-lines.ts";
import { until } from "../../kit/until.ts";

/** The documentation names every hook; another test holds it to that. */
const HOOKS = new Set(
  readFileSync("docs/reference/plugins.md", "utf8")
    .match(/[a-z:_]+/g)
    ?.filter(isHookName),
);

const CHAT = "telegram:default:1001";

/** A plugin that writes down every value that it gets, and names conversations in both forms. */
const KEEPER = `
import { appendFileSync } from "node:fs";
import { buildMemorySystemPromptAddition } from "openclaw/plugin-sdk/core";
import { getGlobalHookRunner } from "openclaw/plugin-sdk/plugin-runtime";
const plain = (name, value) =>
  name === "config" || name === "cfg" || typeof value === "function" ? undefined
  : value instanceof Set || value instanceof AbortSignal ? undefined : value;
const note = (where, ...values) =>
  appendFileSync(process.env.OPENCLAW_STATE_DIR + "/seen.jsonl", JSON.stringify({ where, values }, plain) + "\\n");
const engine = new Proxy({ info: { id: "keeper", name: "keeper", version: "1", ownsCompaction: false } }, {
  get: (target, name) => name in target || typeof name !== "string" || name === "then" ? target[name] : async (...given) => {
    note("engine " + name, ...given);
    if (name === "assemble") buildMemorySystemPromptAddition({ availableTools: new Set() });
    if (name === "assemble") return { messages: given[0].messages, estimatedTokens: 1 };
    if (name === "prepareSubagentSpawn") return { rollback() {} };
    return { bootstrapped: true, ingested: true, ingestedCount: 0, ok: true, compacted: false, changed: false,
      bytesFreed: 0, rewrittenEntries: 0, status: "committed" };
  },
});
export default (api) => {
  for (const name of ${JSON.stringify([...HOOKS])}) api.on(name, (...given) => void note("hook " + name, ...given));
  api.registerHook(["command", "session", "agent", "gateway", "message"], (event) => note("event", event));
  api.registerContextEngine("keeper", () => engine);
  api.registerMemoryPromptSupplement((given) => (note("memory", given), []));
  api.registerTool((context) => (note("tool", context), {
    name: "keep", description: "Keeps.", parameters: { type: "object", properties: {} },
    execute: async () => {
      const { routing, session } = api.runtime.channel;
      note("route", routing.resolveAgentRoute({ channel: "telegram", accountId: "default", peer: { kind: "direct", id: "1001" } }));
      note("store", session.loadSessionStore(session.resolveStorePath()));
      return { content: [{ type: "text", text: "kept" }] };
    } }), { name: "keep" });
  api.registerCommand({ name: "keep", acceptsArgs: true, description: "Keeps.", handler: async (context) => {
    note("command", context);
    const { system, subagent } = api.runtime;
    await system.enqueueSystemEvent("the first event", { sessionKey: context.sessionKey });
    await system.enqueueSystemEvent("the second event", { sessionKey: "${CHAT}" });
    await getGlobalHookRunner().runMessageSent({ to: "x", content: "x", success: true }, { sessionKey: "${CHAT}" });
    const below = "agent:main:subagent:one";
    const { runId } = await subagent.run({ sessionKey: below, message: "look below", deliver: false, idempotencyKey: "1" });
    await subagent.waitForRun({ runId, timeoutMs: 30000 });
    const all = await Promise.all([below, context.sessionKey, "${CHAT}"].map((sessionKey) =>
      subagent.getSessionMessages({ sessionKey })));
    note("messages", ...all);
    await subagent.deleteSession({ sessionKey: below });
    return { text: "counted " + all.map(({ messages }) => messages.length).join(" ") };
  } });
  api.registerGatewayMethod("keeper.note", ({ params, req }) => (note("method", params, req), { sessionKey: "${CHAT}" }));
  api.session.controls.registerSessionAction({ id: "note", handler: (request) => (note("action", request), request) });
  api.runtime.events.onAgentEvent((event) => note("run", event));
  api.runtime.events.onSessionTranscriptUpdate((event) => note("transcript", event));
};`;

interface Noted {
  readonly where: string;
  readonly values: readonly unknown[];
}

const notedBy = ({ stateDir }: Home): readonly Noted[] => jsonLinesIn(join(stateDir, "seen.jsonl"));

/** The id of a web client's chat is an address, and may look like a key. */
const ADDRESSES: readonly string[] = ["from", "to", "conversationId"];

/** Every text that is a whole value or a whole name in what was noted. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    yield name;
    if (!ADDRESSES.includes(name)) yield* textsIn(member);
  }
}

const isKeyName = (name: string): boolean => /^(?:session|[a-z]+Session)Key$|^spawnedBy$/.test(name);

function* keysIn(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (isKeyName(name)) yield member;
    else yield* keysIn(member);
  }
}

test("a plugin sees session keys in the form of clients alone, and may name conversations in both", async ({
  world,
  expect,
}) => {
  const entry = { enabled: true, hooks: { allowConversationAccess: true } };
  const plugins = { entries: { keeper: entry }, slots: { contextEngine: "keeper" } };
  const home = await world.home(world.config({ plugins }));
  const manifest = { kind: "context-engine", contracts: { tools: ["keep"] } };
  writePlugin(join(home.stateDir, "extensions"), { id: "keeper", code: KEEPER, manifest });
  const gateway = await home.start();
  world.model.answer((asked) => {
    if (asked.said.includes("spawn") && !asked.isAfterTool) return { tool: "sessions_spawn", args: { task: "dig" } };
    if (asked.said.includes("keep it") && !asked.isAfterTool) return { tool: "keep", args: {} };
    return { text: `heard: ${asked.said.includes("the second event")}` };
  });
  world.telegram.say("keep it");
  await world.told("heard: false");
  world.telegram.say("/keep now");
  await world.told("counted 2 4 4");
  world.telegram.say("what came?");
  await world.told("heard: true");
  expect(world.model.calls.at(-1)?.said).toContain("the first event");
  await home.run(["agent", "--message", "spawn somebody"]);
  await until(() => notedBy(home).some(({ where }) => where === "hook subagent_ended"));
  world.telegram.say("/new");
  await until(() => notedBy(home).some(({ where }) => where === "hook session_end"));
  const shown = "agent:main:telegram:default:1001";
  for (const sessionKey of [CHAT, shown]) {
    expect(await call(gateway, "keeper.note", { sessionKey })).toEqual({ sessionKey: shown });
    const action = { pluginId: "keeper", actionId: "note", sessionKey };
    expect(await call(gateway, "plugins.sessionAction", action)).toMatchObject({ result: { sessionKey: shown } });
  }
  const rows = Object.keys(sessionsOf(home));
  await gateway.kill();

  const noted = notedBy(home);
  const where = new Set(noted.map((one) => one.where));
  for (const place of ["event", "memory", "tool", "route", "store", "command", "messages", "method", "action", "run"])
    expect(where).toContain(place);
  for (const place of ["engine assemble", "engine prepareSubagentSpawn", "engine onSubagentEnded", "transcript"])
    expect(where).toContain(place);
  // The key of a subagent has one form.
  const inner = new Set(rows.filter((key) => !key.startsWith("agent:")));
  expect(inner).toContain(CHAT);
  const leaked = noted.flatMap((one) => [...textsIn(one.values)].map((text) => [one.where, text] as const));
  expect(leaked.filter(([, text]) => inner.has(text))).toEqual([]);
  const named = noted.flatMap((one) => [...keysIn(one.values)].map((key) => [one.where, key] as const));
  // An event of the gateway is about no conversation.
  expect(named.filter(([, key]) => key !== "" && !/^agent:main:./.test(String(key)))).toEqual([]);
  expect(new Set(named.map(([, key]) => key))).toContain("agent:main:main");
});
