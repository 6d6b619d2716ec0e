import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe } from "vitest";
import { type Config, isRecord, test, type World } from "../../kit/gateway/world.ts";
import type { Home } from "../../kit/gateway/process.ts";
import { sessionsOf } from "../../kit/gateway/state-files.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { ask, call } from "../../kit/gateway/rpc.ts";
import { jsonLinesIn } from "../../kit/json-lines.ts";
import { until } from "../../kit/until.ts";

/** A plugin that writes down each call of its hooks, one JSON line each. */
const code = (answers: string) => `
import { appendFileSync } from "node:fs";
const answers = { ${answers} };
const NAMES = ["gateway_start", "gateway_stop", "session_start", "session_end", "before_reset", "message_received",
  "before_agent_run", "before_prompt_build", "before_tool_call", "after_tool_call", "agent_end", "before_install"];
export default (api) => {
  for (const name of NAMES) api.on(name, (event, context) => {
    const { messages, ...rest } = event ?? {};
    appendFileSync(process.env.OPENCLAW_STATE_DIR + "/calls.jsonl",
      JSON.stringify({ name, event: rest, context, messages: messages?.length }) + "\\n");
    return answers[name]?.(event);
  });
};`;

async function startWith(world: World, answers = "", more: Config = {}) {
  const entries = { watcher: { enabled: true, hooks: { allowConversationAccess: true } } };
  const home = await world.home(world.config({ plugins: { entries }, ...more }));
  writePlugin(join(home.stateDir, "extensions"), { id: "watcher", code: code(answers) });
  return { home, gateway: await home.start() };
}

/** Lets the conversations of a gateway that has ended be last used earlier by so many milliseconds. */
function makeOlder({ stateDir }: Home, ms: number): void {
  const journal = new DatabaseSync(join(stateDir, "state", "journal.sqlite"));
  try {
    const change = "UPDATE sessions SET row = json_set(row, '$.updatedAt', json_extract(row, '$.updatedAt') - ?)";
    journal.prepare(change).run(ms);
  } finally {
    journal.close();
  }
}

type Call = Record<string, unknown> & { readonly name: string };

const callsOf = ({ stateDir }: Home): readonly Call[] => jsonLinesIn(join(stateDir, "calls.jsonl"));
const named = (home: Home, name: string) => callsOf(home).filter((call) => call.name === name);

describe.concurrent("the hooks of a plugin", () => {
  test("are called at their places, with what the field passes", async ({ world, expect }) => {
    const { home, gateway } = await startWith(world);
    world.model.answer((call) =>
      call.isAfterTool || !call.said.includes("look") ? { text: `said: ${call.said}` } : { tool: "ls", args: {} },
    );
    world.telegram.say("look around");
    await world.told("said:");
    await until(() => named(home, "agent_end").length === 1);
    world.telegram.say("/new");
    await until(() => named(home, "session_end").length === 1);
    await until(() => named(home, "session_start").length === 2);
    await gateway.kill();
    const names = callsOf(home).map(({ name }) => name);
    expect(names[0]).toBe("gateway_start");
    expect(names.at(-1)).toBe("gateway_stop");
    const [received] = named(home, "message_received");
    expect(received?.["event"]).toMatchObject({ content: "look around", senderId: "1001", isGroup: false });
    const [before] = named(home, "before_tool_call");
    expect(before?.["event"]).toMatchObject({ toolName: "ls", params: {} });
    expect(named(home, "after_tool_call")[0]?.["event"]).toMatchObject({ toolName: "ls", params: {} });
    expect(named(home, "agent_end")[0]?.["event"]).toMatchObject({ success: true });
    const [reset] = named(home, "before_reset");
    expect(reset).toMatchObject({ event: { reason: "new" }, messages: 4 });
    const [end, shutdown] = named(home, "session_end");
    const [first, second] = named(home, "session_start").map(({ event }) =>
      isRecord(event) ? event["sessionId"] : "",
    );
    expect(shutdown?.["event"]).toMatchObject({ reason: "shutdown", sessionId: second, transcriptArchived: false });
    expect(end?.["event"]).toMatchObject({ reason: "new", sessionId: first, nextSessionId: second, messageCount: 4 });
  });

  test("are told of the session with which a client leaves another one, and of its end only when it ends", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await startWith(world);
    await ask(home, "the word is tulip");
    const left = "agent:main:main";
    const leave = async (key: string, succeedsParent: boolean) =>
      call(gateway, "sessions.create", { key, parentSessionKey: left, emitCommandHooks: true, succeedsParent });
    await leave("agent:main:beside", false);
    await leave("agent:main:after", true);
    await call(gateway, "sessions.create", { key: "agent:main:alone" });
    await until(() => named(home, "session_start").length === 4);
    await until(() => named(home, "session_end").length === 1);
    const rows = sessionsOf(home);
    const [id = "", beside, after] = ["webchat:default:operator", "beside", "after"].map((key) => rows[key]?.sessionId);
    const before = { event: { reason: "new" }, messages: 2, context: { sessionKey: left, sessionId: id } };
    expect(named(home, "before_reset")).toMatchObject([before, before]);
    const follows = {
      event: { sessionId: id, reason: "new", nextSessionKey: "agent:main:after", nextSessionId: after },
    };
    expect(named(home, "session_end")).toMatchObject([{ ...follows, context: { sessionKey: left } }]);
    expect(named(home, "session_start").slice(1)).toMatchObject([
      { event: { sessionId: beside, sessionKey: "agent:main:beside", resumedFrom: id } },
      { event: { sessionId: after, sessionKey: "agent:main:after", resumedFrom: id } },
      { event: { sessionKey: "agent:main:alone" } },
    ]);
    expect(named(home, "session_start").at(-1)?.["event"]).not.toHaveProperty("resumedFrom");
  });

  test.for([
    ["idle", { idleMinutes: 60 }],
    ["daily", { resetByType: { direct: { mode: "daily", atHour: new Date().getHours() } } }],
  ] as const)("are told why a conversation begins anew by itself: %s", async ([reason, session], { world, expect }) => {
    const { home, gateway } = await startWith(world, "", { session });
    world.telegram.say("the word is tulip");
    await world.told("tulip");
    await gateway.kill();
    makeOlder(home, 25 * 3_600_000);
    await home.start();
    const before = sessionsOf(home);
    world.telegram.say("which word?");
    await world.told("which word?");
    await until(() => named(home, "session_end").some(({ event }) => isRecord(event) && event["reason"] === reason));
    const [key = ""] = Object.keys(before);
    const end = named(home, "session_end").at(-1);
    expect(end?.["event"]).toMatchObject({
      reason,
      sessionId: before[key]?.sessionId,
      nextSessionId: sessionsOf(home)[key]?.sessionId,
      messageCount: 2,
      transcriptArchived: true,
    });
    expect(named(home, "before_reset")).toMatchObject([{ event: { reason }, messages: 2 }]);
    expect(named(home, "session_start").at(-1)?.["event"]).toMatchObject({ resumedFrom: before[key]?.sessionId });
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).not.toContain("tulip");
  });

  test("can change the arguments of a tool's call", async ({ world, expect }) => {
    const { home } = await startWith(world, `before_tool_call: () => ({ params: { path: "AGENTS.md" } })`);
    world.model.answer((call) =>
      call.isAfterTool ? { text: `read: ${call.toolText}` } : { tool: "read", args: { path: "missing.md" } },
    );
    world.telegram.say("read it");
    const told = await world.told("read:");
    expect(told.text).toContain(readFileSync(join(home.stateDir, "workspace", "AGENTS.md"), "utf8").slice(0, 20));
  });

  test("can refuse a tool's call, and refuse it as well when they break", async ({ world, expect }) => {
    await startWith(
      world,
      `before_tool_call: ({ params }) => {
      if (params.path === "secret.md") return { block: true, blockReason: "that file is closed" };
      throw new Error("no idea");
    }`,
    );
    world.model.answer((call) => {
      const path = call.said.includes("secret") ? "secret.md" : "other.md";
      return call.isAfterTool ? { text: `result: ${call.toolText}` } : { tool: "read", args: { path } };
    });
    world.telegram.say("read the secret");
    expect((await world.told("result:")).text).toContain("This call was not run: that file is closed");
    world.telegram.say("read the other");
    expect((await world.told("no idea")).text).toContain("the plugin watcher failed: no idea");
  });

  test("can keep a run from beginning; the chat is informed and the model not asked", async ({ world, expect }) => {
    await startWith(world, `before_agent_run: () => ({ outcome: "block", reason: "out of hours" })`);
    world.telegram.say("hello");
    await world.told("A plugin of this gateway does not allow this.");
    expect(world.model.calls).toEqual([]);
  });

  test("can forbid that a plugin is installed", async ({ world, expect }) => {
    const { home } = await startWith(
      world,
      `before_install: ({ targetName }) => ({ block: targetName === "lurker", blockReason: "not on our list" })`,
    );
    const install = async (id: string) => {
      const root = writePlugin(join(home.stateDir, "sources"), { id, code: "export default () => undefined;" });
      return home.run(["plugins", "install", root, "--accept-capabilities"]);
    };
    const refused = await install("lurker");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("A plugin of the running gateway does not allow it: not on our list.");
    expect((await home.run(["plugins", "list", "--json"])).stdout).not.toContain("lurker");
    expect((await install("welcome")).stdout).toContain("Installed plugin: welcome");
    expect(named(home, "before_install").at(-1)?.["event"]).toMatchObject({
      targetName: "welcome",
      request: { kind: "plugin-dir", mode: "install" },
      plugin: { pluginId: "welcome", version: "1.2.3" },
    });
  });
});
