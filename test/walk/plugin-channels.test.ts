import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { z } from "zod";
import { connectGateway } from "../../src/app/cli/client.ts";
import { Secret } from "../../src/types/secret.ts";
import type { GatewayUnderTest } from "../kit/gateway/process.ts";
import { writePlugin, type PluginFiles } from "../kit/gateway/plugins.ts";
import { test, type World } from "../kit/gateway/world.ts";
import { PNG } from "../kit/pictures.ts";
import { until } from "../kit/until.ts";

/** A channel in the field's form. The test writes and reads its chats by the methods `post.say` and `post.state`. */
const POST: PluginFiles = {
  id: "post",
  manifest: {
    channels: ["post"],
    channelConfigs: {
      post: { schema: { type: "object", additionalProperties: false, properties: { token: { type: "string" } } } },
    },
  },
  code: `
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTypingCallbacks } from "openclaw/plugin-sdk/channel-message";
import { resolvePreferredOpenClawTmpDir } from "openclaw/plugin-sdk/infra-runtime";
const state = { sent: [], events: [], routes: [] };
let deliver;
let end;
const channel = {
  id: "post",
  meta: { label: "Post" },
  capabilities: { chatTypes: ["direct"] },
  configSchema: { schema: { type: "object", additionalProperties: false, properties: { token: { type: "string" } }, required: ["token"] } },
  messaging: { targetResolver: {} },
  config: {
    listAccountIds: () => ["letterbox"],
    resolveAccount: (cfg, accountId) => ({ accountId, token: cfg.channels.post.token }),
    isConfigured: (account) => account.token === "stamp",
  },
  outbound: {
    textChunkLimit: 200,
    sendText: async ({ to, text, accountId }) => { state.sent.push({ to, text, accountId }); return { messageId: "s" + state.sent.length }; },
    sendMedia: async ({ to, text, mediaUrl }) => { state.sent.push({ to, text, bytes: readFileSync(mediaUrl).length }); return { messageId: "s" + state.sent.length }; },
    sendPoll: async () => undefined,
  },
  gateway: {
    startAccount: async ({ cfg, accountId, account, abortSignal, channelRuntime, setStatus, log }) => {
      state.events.push("start " + accountId + " " + account.token);
      setStatus({ accountId, running: true });
      deliver = async ({ id, text, from, picture, target }) => {
        const ctx = { Body: text, From: from, To: from, AccountId: accountId, MessageSid: id, ChatType: "direct", Provider: "post", SenderName: "Ada" };
        if (target) Object.assign(ctx, { CommandSource: "native", CommandTargetSessionKey: target });
        if (picture) {
          const saved = await channelRuntime.media.saveMediaBuffer(Buffer.from(picture, "base64"), "image/png", "inbound", 1000);
          ctx.MediaPath = saved.path;
          ctx.MediaType = "image/*";
        }
        const route = channelRuntime.routing.resolveAgentRoute({ cfg, channel: "post", accountId, peer: { kind: "direct", id: from } });
        state.routes.push(route.agentId + " " + route.sessionKey);
        ctx.SessionKey = route.sessionKey;
        const finalized = channelRuntime.reply.finalizeInboundContext(ctx);
        await channelRuntime.session.recordInboundSession({ storePath: channelRuntime.session.resolveStorePath(undefined, { agentId: route.agentId }), ctx: finalized });
        const typingCallbacks = createTypingCallbacks({ start: async () => { state.events.push("typing"); }, onStartError: () => {} });
        const { dispatcher, replyOptions, markDispatchIdle } = channelRuntime.reply.createReplyDispatcherWithTyping({ typingCallbacks, deliver: async () => { state.events.push("deliver"); } });
        const result = await channelRuntime.reply.withReplyDispatcher({ dispatcher, run: () => channelRuntime.reply.dispatchReplyFromConfig({ ctx: finalized, cfg, dispatcher, replyOptions }) });
        markDispatchIdle();
        return result;
      };
      await new Promise((resolve, reject) => {
        end = reject;
        abortSignal.addEventListener("abort", resolve);
      });
      state.events.push("stop");
      writeFileSync(join(process.env.OPENCLAW_STATE_DIR, "post-stopped.txt"), "stopped");
    },
    stopAccount: async ({ account }) => { state.events.push("stopAccount " + account.token); },
  },
};
export default (api) => {
  api.registerChannel({ plugin: channel });
  api.registerGatewayMethod("post.say", async ({ params, respond }) => respond(true, await deliver(params)), { scope: "operator.write" });
  api.registerGatewayMethod("post.break", async ({ respond }) => { end(new Error("the post is closed")); respond(true, {}); }, { scope: "operator.write" });
  api.registerGatewayMethod("post.state", ({ respond }) => respond(true, state), { scope: "operator.read" });
  state.tmp = resolvePreferredOpenClawTmpDir();
};`,
};

const stateShape = z.object({
  sent: z.array(
    z.object({ to: z.string(), text: z.string(), accountId: z.string().optional(), bytes: z.number().optional() }),
  ),
  events: z.array(z.string()),
  routes: z.array(z.string()),
});

async function startPost(world: World, section: object = { dmPolicy: "open", allowFrom: ["*"] }) {
  world.model.answer(({ said }) => ({ text: `echo: ${said.split("\n").at(-1)}` }));
  const channels = { telegram: { enabled: false }, post: { token: "stamp", ...section } };
  const home = await world.home(world.config({ channels, plugins: { entries: { post: { enabled: true } } } }));
  writePlugin(join(home.stateDir, "extensions"), POST);
  const gateway = await home.start();
  await gateway.logged((line) => line["msg"] === "channel connected" && line["channel"] === "post");
  return { home, gateway };
}

async function call(gateway: GatewayUnderTest, method: string, params: object = {}): Promise<unknown> {
  const client = await connectGateway({
    url: `ws://127.0.0.1:${gateway.port}`,
    token: new Secret(gateway.token),
    isElsewhere: false,
  });
  try {
    return await client.call(method, params, z.unknown());
  } finally {
    client.close();
  }
}

const stateOf = async (gateway: GatewayUnderTest) => stateShape.parse(await call(gateway, "post.state"));
const say = (gateway: GatewayUnderTest, id: string, text: string, more: object = {}) =>
  call(gateway, "post.say", { id, text, from: "ada", ...more });

describe.concurrent("a channel of a plugin of the field", () => {
  test("passes messages on, once each, and sends the answers", async ({ world, expect }) => {
    const { home, gateway } = await startPost(world);
    const unused = await gateway.logged("parts of a channel are not used");
    expect(unused["parts"]).toBe("messaging, outbound.sendPoll");
    const dispatched = await say(gateway, "m1", "hello post");
    expect(dispatched).toEqual({ queuedFinal: true, counts: { tool: 0, block: 0, final: 1 } });
    await until(async () => (await stateOf(gateway)).sent.length === 1);
    await say(gateway, "m1", "hello post");
    await say(gateway, "m2", "a second letter");
    await until(async () => (await stateOf(gateway)).sent.length === 2);
    const state = await stateOf(gateway);
    expect(state.sent).toEqual([
      { to: "ada", text: "echo: hello post", accountId: "letterbox" },
      { to: "ada", text: "echo: a second letter", accountId: "letterbox" },
    ]);
    expect(state.events).toContain("start letterbox stamp");
    expect(state.events).toContain("typing");
    expect(state.events).not.toContain("deliver");
    const sessions = z.object({ sessions: z.array(z.looseObject({ key: z.string() })) });
    const keys = sessions.parse(await call(gateway, "sessions.list")).sessions.map(({ key }) => key);
    expect(keys).toContain(state.routes[0]?.split(" ")[1]);
    expect((await home.run(["channels", "status"])).stdout).toMatch(/post +letterbox +running/);
  });

  test("carries files in both directions", async ({ world, expect }) => {
    const { home, gateway } = await startPost(world);
    world.model.answer(() => ({ text: "here it is\n[[media:dot.png]]" }));
    writeFileSync(join(home.stateDir, "workspace", "dot.png"), PNG);
    await say(gateway, "m1", "look", { picture: Buffer.from(PNG).toString("base64") });
    await until(async () => (await stateOf(gateway)).sent.some(({ bytes }) => bytes === PNG.length));
    expect(JSON.stringify(world.model.calls[0])).toContain("image");
    expect(readdirSync(join(home.stateDir, "media")).length).toBeGreaterThan(0);
  });

  test("ends a run by a button that names its conversation, and nobody else's", async ({ world, expect }) => {
    const { gateway } = await startPost(world);
    world.model.answer(() => "hang");
    await say(gateway, "m1", "work on it");
    await world.model.called(1);
    const target = (await stateOf(gateway)).routes[0]?.split(" ")[1];
    await say(gateway, "b1", "/stop", { from: "button:ada", target: "webchat:default:operator" });
    await until(async () => (await stateOf(gateway)).sent.some(({ to }) => to === "button:ada"));
    expect((await stateOf(gateway)).sent).toEqual([expect.objectContaining({ text: "Nothing is running." })]);
    await say(gateway, "b2", "/stop", { from: "button:ada", target });
    await until(async () => (await stateOf(gateway)).sent.some(({ to }) => to === "ada"));
    expect((await stateOf(gateway)).sent.at(-1)).toMatchObject({ to: "ada", text: "⏹ Stopped." });
  });

  test("lets strangers in only as the gateway's rules say", async ({ world, expect }) => {
    const { home, gateway } = await startPost(world, {});
    await say(gateway, "m1", "hello");
    await until(async () => (await stateOf(gateway)).sent.length === 1);
    expect((await stateOf(gateway)).sent[0]?.text).toMatch(/pairing/i);
    const code = z
      .array(z.looseObject({ code: z.string() }))
      .parse(
        Object.values(JSON.parse((await home.run(["pairing", "list", "--json"])).stdout)).find(Array.isArray),
      )[0]?.code;
    expect((await home.run(["pairing", "approve", "post", code ?? ""])).code).toBe(0);
    await say(gateway, "m2", "hello again");
    await until(async () => (await stateOf(gateway)).sent.some(({ text }) => text === "echo: hello again"));
    expect(world.model.calls).toHaveLength(1);
  });

  test("is started again when its monitor fails, and ends with its plugin", async ({ world, expect }) => {
    const { home, gateway } = await startPost(world);
    await call(gateway, "post.break");
    const trouble = await gateway.logged("channel in trouble");
    expect(trouble["reason"]).toBe("the post is closed");
    await until(async () => (await stateOf(gateway)).events.filter((event) => event.startsWith("start ")).length === 2);
    await say(gateway, "m1", "still there?");
    await until(async () => (await stateOf(gateway)).sent.length === 1);
    await home.run(["config", "set", "plugins.entries.post.enabled", "false"]);
    await gateway.logged("plugin unloaded");
    await until(() => readdirSync(home.stateDir).includes("post-stopped.txt"));
    await until(async () => !(await home.run(["channels", "status"])).stdout.includes("letterbox"));
    await expect(call(gateway, "post.state")).rejects.toThrow("Unknown method");
  });

  test("that is not set up says what to do", async ({ world, expect }) => {
    const channels = { telegram: { enabled: false }, post: { token: "wrong" } };
    const home = await world.home(world.config({ channels, plugins: { entries: { post: { enabled: true } } } }));
    writePlugin(join(home.stateDir, "extensions"), POST);
    const gateway = await home.start();
    const stopped = await gateway.logged("channel stopped");
    expect(stopped["reason"]).toBe("The account letterbox of Post is not set up.");
    expect(stopped["fix"]).toContain("openclaw channels login --channel post");
  });
});
