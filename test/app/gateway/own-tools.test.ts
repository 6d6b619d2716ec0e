import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import type { RawClient } from "../../kit/server/server.ts";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../kit/gateway/in-process.ts";

/** The gateway's own tools as a model calls them, over a real gateway. */
let model: FakeModel;
let fixture: GatewayFixture;
const open: RawClient[] = [];
beforeAll(async () => {
  model = await startFakeModel();
  fixture = await startGatewayFixture({ dmPolicy: "open", allowFrom: ["*"] }, model.url);
});
afterEach(() => {
  for (const tab of open.splice(0)) tab.close();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

async function openTab(): Promise<RawClient> {
  const tab = await fixture.client();
  open.push(tab);
  return tab;
}

const ended = z.looseObject({
  event: z.literal("chat"),
  payload: z.looseObject({ state: z.enum(["final", "error"]) }),
});
const planned = z.looseObject({
  event: z.literal("agent"),
  payload: z.looseObject({ stream: z.literal("plan"), data: z.unknown() }),
});

let said = 0;
/** The results of these calls, made one after another in a turn of the page. */
async function callsOf(tab: RawClient, calls: readonly { tool: string; args: Record<string, unknown> }[]) {
  const results: string[] = [];
  model.answer(({ isAfterTool, toolText }) => {
    if (isAfterTool) results.push(toolText);
    return calls[results.length] ?? { text: "done" };
  });
  const before = tab.frames.length;
  said += 1;
  await tab.request("chat.send", { sessionKey: "tools", message: "go on", idempotencyKey: `own-tools-${said}` });
  await tab.until((frame) => tab.frames.indexOf(frame) >= before && ended.safeParse(frame).success);
  return results;
}

test("watchers are told of a plan, and the session keeps it until a new conversation begins", async () => {
  const tab = await openTab();
  const steps = [
    { step: "look", status: "completed" },
    { step: "write", status: "in_progress" },
  ];
  const [, status] = await callsOf(tab, [
    { tool: "update_plan", args: { plan: steps } },
    { tool: "session_status", args: {} },
  ]);
  const events = tab.frames.flatMap((frame) => planned.safeParse(frame).data?.payload.data ?? []);
  expect(events).toEqual([expect.objectContaining({ phase: "update", steps })]);
  expect(status).toContain("Plan:\n✅ look\n▶️ write");
  expect(status).toContain("Model: fake/fake-1");
  await fixture.restart();
  const again = await openTab();
  expect((await callsOf(again, [{ tool: "session_status", args: {} }]))[0]).toContain("Queue: collect, debounce ");
  expect((await callsOf(again, [{ tool: "session_status", args: {} }]))[0]).toContain("▶️ write");
  await again.request("sessions.reset", { key: "tools" });
  expect((await callsOf(again, [{ tool: "session_status", args: {} }]))[0]).not.toContain("Plan:");
});

test("an owner's conversation chooses its model, and learns why another cannot be chosen", async () => {
  const tab = await openTab();
  const [wrong, right, back] = await callsOf(tab, [
    { tool: "session_status", args: { model: "nowhere/none" } },
    { tool: "session_status", args: { model: "fake/fake-1" } },
    { tool: "session_status", args: { model: "default" } },
  ]);
  expect(wrong).toContain("nowhere");
  expect(right).toContain("Model: fake/fake-1");
  expect(back).toContain("Model: fake/fake-1");
});

test("a chat that shows tool calls shows the plan, as text without markup of its own", async () => {
  const { telegram } = fixture;
  telegram.say("/verbose on", { from: { id: 42 } });
  await telegram.waitFor(({ text }) => /verbose/i.test(text));
  model.answer(({ isAfterTool }) =>
    isAfterTool
      ? { text: "all done" }
      : { tool: "update_plan", args: { plan: [{ step: "read [this](http://x.example)", status: "pending" }] } },
  );
  telegram.say("make a plan", { from: { id: 42 } });
  const { text } = await telegram.waitFor((call) => call.text.includes("📋 Plan"));
  expect(text).toContain("⬜ read [this](http://x.example)");
  expect(text).not.toContain("<a ");
});

const HASH = /"baseHash": "([0-9a-f]{64})"/;
const hashIn = (text = ""): string => HASH.exec(text)?.[1] ?? "";

test("an owner's conversation reads the config without secrets, and looks keys up", async () => {
  const tab = await openTab();
  const [all, one, none, key] = await callsOf(tab, [
    { tool: "gateway", args: { action: "config.get" } },
    { tool: "gateway", args: { action: "config.get", path: "models.providers.fake" } },
    { tool: "gateway", args: { action: "config.get", path: "no.such.key" } },
    { tool: "gateway", args: { action: "config.schema.lookup", path: "messages.responsePrefix" } },
  ]);
  for (const text of [all, one]) {
    expect(hashIn(text)).not.toBe("");
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(fixture.telegram.token);
  }
  expect(one).toContain("[secret]");
  expect(none).toContain("no value");
  expect(key).toContain('"type":"string"');
});

test("it changes the file as openclaw config set does, once per hash, and never a protected key", async () => {
  const tab = await openTab();
  const [got = ""] = await callsOf(tab, [{ tool: "gateway", args: { action: "config.get", path: "messages" } }]);
  const baseHash = hashIn(got);
  const patch = (raw: unknown, hash = baseHash) => ({
    tool: "gateway",
    args: { action: "config.patch", raw: JSON.stringify(raw), baseHash: hash },
  });
  const before = fixture.config();
  const [token, exec, unfit, stale, noHash] = await callsOf(tab, [
    patch({
      messages: { responsePrefix: "[x]" },
      channels: { telegram: { allowFrom: ["*"], dmPolicy: "open", botToken: "1:x" } },
    }),
    patch({ tools: { exec: { security: "full" } } }),
    patch({ messages: { responsePrefix: 7 } }),
    patch({ messages: { responsePrefix: "[x]" } }, "0".repeat(64)),
    { tool: "gateway", args: { action: "config.patch", raw: '{"messages":{"responsePrefix":"[x]"}}' } },
  ]);
  expect(token).toContain("channels.telegram.botToken: it holds accounts");
  expect(exec).toContain("tools.exec.security: it says what agents may do");
  expect(unfit).toContain("messages.responsePrefix");
  expect(stale).toContain("changed since it was read");
  expect(noHash).toContain("baseHash");
  expect(fixture.config()).toBe(before);
  const [done, again] = await callsOf(tab, [
    patch({ messages: { responsePrefix: "[x]" } }),
    patch({ messages: { responsePrefix: "[y]" } }),
  ]);
  expect(done).toContain("Changed: messages.responsePrefix");
  expect(again).toContain("changed since it was read");
  expect(JSON.parse(fixture.config())).toMatchObject({ messages: { responsePrefix: "[x]" } });
});

const shownShape = z.looseObject({
  payload: z.looseObject({
    hash: z.string(),
    config: z.looseObject({ messages: z.looseObject({ responsePrefix: z.unknown() }) }),
  }),
});

test("config.apply takes the whole config as it is shown, with a change, and refuses to drop a protected part", async () => {
  const tab = await openTab();
  const get = async () => shownShape.parse(await tab.request("config.get", {})).payload;
  const onDisk = () => createHash("sha256").update(fixture.config()).digest("hex");
  await expect.poll(async () => (await get()).hash).toBe(onDisk());
  const { hash: baseHash, config } = await get();
  const apply = (next: unknown) => ({
    tool: "gateway",
    // The tool has a placeholder of its own.
    args: {
      action: "config.apply",
      raw: JSON.stringify(next).replaceAll("__OPENCLAW_REDACTED__", "[secret]"),
      baseHash,
    },
  });
  const { gateway: _gateway, ...without } = config;
  const before = fixture.config();
  const [same, dropped] = await callsOf(tab, [apply(config), apply(without)]);
  expect(same).toContain("has these values already");
  expect(dropped).toContain("gateway: it says who can reach the gateway");
  expect(fixture.config()).toBe(before);
  const [changed] = await callsOf(tab, [
    apply({ ...config, messages: { ...config.messages, responsePrefix: "[whole]" } }),
  ]);
  expect(changed).toContain("Changed: messages.responsePrefix.");
  expect(JSON.parse(fixture.config())).toMatchObject({ messages: { responsePrefix: "[whole]" } });
  expect(fixture.config()).toContain(fixture.telegram.token);
});

test("a guest's conversation has no tool that acts on the gateway, and does not choose its model", async () => {
  const asked: string[] = [];
  model.answer(({ isAfterTool, toolText, tools }) => {
    if (isAfterTool) asked.push(toolText);
    else asked.push(tools.map((tool) => tool.function.name).join(" "));
    return isAfterTool ? { text: "ended" } : { tool: "session_status", args: { model: "fake/fake-1" } };
  });
  fixture.telegram.say("change your model", { from: { id: 4242 } });
  await fixture.telegram.waitFor(({ text }) => text.includes("ended"));
  expect(asked[0]).toContain("session_status");
  expect(asked[0]).not.toContain("gateway");
  expect(asked[1]).toContain("Only an owner's conversations can change the model");
});

test("a restart is begun once for a message, and the conversation is told of it in its next turn", async () => {
  const tab = await openTab();
  const restart = { tool: "gateway", args: { action: "restart", note: "Go on with the boat." } };
  const [first, second] = await callsOf(tab, [restart, restart]);
  expect(first).toContain("restarts in a moment");
  expect(second).toContain("does not restart: it was restarted for this message already");
  await fixture.restart();
  let seen = "";
  model.answer(({ messages }) => {
    seen = JSON.stringify(messages);
    return { text: "done" };
  });
  const again = await openTab();
  await again.request("chat.send", { sessionKey: "tools", message: "hello", idempotencyKey: "after-restart" });
  await again.until((frame) => ended.safeParse(frame).success);
  expect(seen).toContain("The gateway restarted, as you asked. Go on with the boat.");
});

test("no restart where commands.restart is off", async () => {
  await fixture.cli("config", "set", "commands.restart", "false");
  const tab = await openTab();
  const shown = z.looseObject({
    payload: z.looseObject({ config: z.looseObject({ commands: z.looseObject({ restart: z.boolean() }) }) }),
  });
  await expect
    .poll(async () => shown.parse(await tab.request("config.get", {})).payload.config.commands.restart)
    .toBe(false);
  const [answer] = await callsOf(tab, [{ tool: "gateway", args: { action: "restart" } }]);
  expect(answer).toContain("`commands.restart` is off");
});
