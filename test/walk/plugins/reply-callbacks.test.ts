import { join } from "node:path";
import { describe } from "vitest";
import { z } from "zod";
import type { GatewayUnderTest, Home } from "../../kit/gateway/process.ts";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test, type Config, type World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

/** A channel in the field's form that notes, for each message, what its callbacks were given. */
const POST = `
const state = { sent: [], calls: {} };
const aborts = {};
const NAMES = ["onAgentRunStart", "onModelSelected", "onAssistantMessageStart", "onPartialReply", "onReasoningStream",
  "onBlockReplyFlush", "onToolResult", "onBlockReply", "onAgentEvent"];
let say;
const channel = {
  id: "post",
  meta: { label: "Post" },
  config: { listAccountIds: () => ["default"], resolveAccount: () => ({}) },
  outbound: { sendText: async ({ text }) => { state.sent.push(text); return { messageId: "s" + state.sent.length }; } },
  gateway: {
    startAccount: async ({ cfg, abortSignal, channelRuntime, setStatus }) => {
      setStatus({ running: true });
      say = ({ id, text }) => {
        const calls = (state.calls[id] = []);
        aborts[id] = new AbortController();
        const replyOptions = { abortSignal: AbortSignal.any([abortSignal, aborts[id].signal]) };
        for (const name of NAMES) replyOptions[name] = async (given) => { calls.push([name, given ?? null]); };
        return channelRuntime.reply.dispatchReplyWithBufferedBlockDispatcher({
          ctx: { Body: text, From: "ada", To: "ada", MessageSid: id, ChatType: "direct", Provider: "post" },
          cfg, dispatcherOptions: { deliver: async () => {} }, replyOptions,
        });
      };
      await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
    },
  },
};
export default (api) => {
  api.registerChannel({ plugin: channel });
  const method = (name, run) =>
    api.registerGatewayMethod("post." + name, async ({ params, respond }) => respond(true, await run(params)), { scope: "operator.write" });
  method("say", (params) => say(params));
  method("abort", ({ id }) => { aborts[id].abort(); return {}; });
  method("state", () => state);
};`;

const stateShape = z.object({
  sent: z.array(z.string()),
  calls: z.record(z.string(), z.array(z.tuple([z.string(), z.unknown()]))),
});

class Post {
  readonly home: Home;
  readonly gateway: GatewayUnderTest;

  constructor(home: Home, gateway: GatewayUnderTest) {
    this.home = home;
    this.gateway = gateway;
  }

  call = (method: string, params: object = {}) => call(this.gateway, `post.${method}`, params);

  say = (id: string, text: string) => this.call("say", { id, text });
  sent = async () => stateShape.parse(await this.call("state")).sent;

  /** What the callbacks of a message were given. */
  async callsOf(id: string): Promise<readonly (readonly [string, unknown])[]> {
    return stateShape.parse(await this.call("state")).calls[id] ?? [];
  }

  /** The same when this one has been called. */
  async until(id: string, name: string): Promise<readonly (readonly [string, unknown])[]> {
    await until(async () => (await this.callsOf(id)).some(([called]) => called === name), `${name} of ${id}`);
    return this.callsOf(id);
  }
}

async function openPost(world: World, more: Config = {}, hooks: Config = {}): Promise<Post> {
  const channels = { telegram: { enabled: false }, post: { dmPolicy: "open", allowFrom: ["*"] } };
  const plugins = { entries: { post: { enabled: true, hooks } } };
  const home = await world.home(world.config({ channels, plugins, ...more }));
  const manifest = { channels: ["post"], channelConfigs: { post: { schema: { type: "object", properties: {} } } } };
  writePlugin(join(home.stateDir, "extensions"), { id: "post", manifest, code: POST });
  const gateway = await home.start({ env: { OPENCLAW_SHUTDOWN_GRACE_MS: "100" } });
  await gateway.logged((line) => line["msg"] === "channel connected" && line["channel"] === "post");
  return new Post(home, gateway);
}

const queue = (mode: string): Config => ({ messages: { queue: { mode } } });
const namesIn = (calls: readonly (readonly [string, unknown])[]) => calls.map(([name]) => name);
const givenTo = (name: string, calls: readonly (readonly [string, unknown])[]) =>
  calls.filter(([called]) => called === name).map(([, given]) => given);

describe.concurrent("a channel of a plugin that follows the runs of its messages", () => {
  test("sees the answer grow without directives, and nothing of a command", async ({ world, expect }) => {
    const post = await openPost(world);
    world.model.answer(() => ({ text: "[[reply_to_current]] one two three four five", everyMs: 100 }));
    await post.say("c1", "/status");
    await until(async () => (await post.sent()).length === 1);
    await post.say("m1", "count");
    const calls = await post.until("m1", "onBlockReply");
    expect(namesIn(calls).slice(0, 4)).toEqual([
      "onAgentRunStart",
      "onModelSelected",
      "onAssistantMessageStart",
      "onPartialReply",
    ]);
    const texts = z.array(z.object({ text: z.string() })).parse(givenTo("onPartialReply", calls));
    expect(texts.length).toBeGreaterThan(1);
    for (const { text } of texts) expect("one two three four five".startsWith(text.trim())).toBe(true);
    expect(givenTo("onBlockReply", calls)).toEqual([
      { text: "one two three four five", replyToTag: true, replyToCurrent: true },
    ]);
    await until(async () => (await post.sent()).length === 2);
    expect((await post.sent())[1]).toBe("one two three four five");
    expect(await post.callsOf("c1")).toEqual([]);
    // Without the right to read conversations.
    expect(namesIn(calls)).not.toContain("onAgentEvent");
    const { stdout } = await post.home.run(["plugins", "inspect", "post", "--runtime"]);
    expect(stdout).toContain("replyOptions.onAgentEvent");
  });

  test("sees the run of the turn that its messages became", async ({ world, expect }) => {
    const post = await openPost(world, queue("collect"));
    const held = Promise.withResolvers<void>();
    world.model.answer((_call, number) => ({ text: `answer ${number}`, ...(number === 1 && { until: held.promise }) }));
    await post.say("m1", "one");
    await world.model.called(1);
    await post.say("m2", "two");
    await post.say("m3", "three");
    await post.gateway.logged((line) => line["msg"] === "received" && line["inbox"] === 3);
    held.resolve();
    const [second, third] = [await post.until("m2", "onBlockReply"), await post.until("m3", "onBlockReply")];
    expect(givenTo("onAgentRunStart", third)).toEqual(givenTo("onAgentRunStart", second));
    expect(givenTo("onBlockReply", third)).toEqual([{ text: "answer 2" }]);
    expect(givenTo("onBlockReply", await post.callsOf("m1"))).toEqual([{ text: "answer 1" }]);
    expect((await outcomesOf(post.home, 3)).at(-1)).toEqual({ kind: "merged", into: 2 });
  });

  test("sees the run that a message was steered into, from then on", async ({ world, expect }) => {
    const post = await openPost(world, queue("steer"), { allowConversationAccess: true });
    const held = Promise.withResolvers<void>();
    world.model.answer(async (_call, number) => {
      if (number > 1) return { text: "both are answered" };
      await held.promise;
      return { tool: "ls", args: {} };
    });
    await post.say("m1", "one");
    await world.model.called(1);
    await post.say("m2", "two");
    await post.until("m2", "onAgentRunStart");
    held.resolve();
    const second = await post.until("m2", "onBlockReply");
    const first = await post.until("m1", "onBlockReply");
    expect(await outcomesOf(post.home, 2)).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    expect(givenTo("onAgentRunStart", second)).toEqual(givenTo("onAgentRunStart", first));
    for (const calls of [first, second]) {
      expect(givenTo("onBlockReply", calls)).toEqual([{ text: "both are answered" }]);
      expect(namesIn(calls)).toEqual(expect.arrayContaining(["onBlockReplyFlush", "onToolResult", "onAgentEvent"]));
    }
    expect(namesIn(first)).toContain("onModelSelected");
    expect(namesIn(second)).not.toContain("onModelSelected");
  });

  test("ends the run by its signal, and a message that waits; a restart of the gateway ends none", async ({
    world,
    expect,
  }) => {
    const post = await openPost(world, queue("followup"));
    world.model.answer((_call, number) => (number <= 2 ? "hang" : { text: "answered after the restart" }));
    await post.say("m1", "one");
    await world.model.called(1);
    await post.say("m2", "two");
    await post.say("m3", "three");
    await post.call("abort", { id: "m2" });
    await post.call("abort", { id: "m1" });
    await world.model.called(2);
    expect(await outcomesOf(post.home, 2)).toEqual([{ kind: "aborted" }, { kind: "aborted" }]);
    await post.gateway.kill("SIGTERM");
    const again = new Post(post.home, await post.home.start());
    await again.gateway.logged((line) => line["msg"] === "channel connected" && line["channel"] === "post");
    await until(async () => (await again.sent()).includes("answered after the restart"));
    expect((await outcomesOf(post.home, 3)).map((outcome) => outcome?.["kind"])).toEqual([
      "aborted",
      "aborted",
      "replied",
    ]);
    expect(world.model.calls.map(({ said }) => /(one|two|three)/.exec(said.split("\n").at(-1) ?? "")?.[0])).toEqual([
      "one",
      "three",
      "three",
    ]);
  });
});
