import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { call } from "../../kit/gateway/rpc.ts";
import { type GatewayUnderTest, PATIENCE } from "../../kit/gateway/process.ts";
import { outcomesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";

const TOKEN = "hook-token-0123456789";

async function post({ port }: GatewayUnderTest, path: string, body: object): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  return (await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: JSON.stringify(body) }))
    .status;
}

const keysOf = async (gateway: GatewayUnderTest) =>
  Object(await call(gateway, "sessions.list", {})).sessions.map(({ key }: { key: string }) => key);

describe.concurrent("the config of hooks", () => {
  test("switches them off, and says where they are", async ({ world, expect }) => {
    const off = await world.start({ hooks: { enabled: false, token: TOKEN } });
    expect(await post(off.gateway, "/hooks/agent", { message: "x" })).toBe(404);
    const moved = await world.start({
      hooks: { enabled: true, token: TOKEN, path: "/in" },
      channels: { telegram: { enabled: false } },
    });
    world.model.answer(() => ({ text: "ok" }));
    expect(await post(moved.gateway, "/hooks/agent", { message: "x", deliver: false })).toBe(404);
    expect(await post(moved.gateway, "/in/agent", { message: "x", deliver: false })).toBe(202);
  });

  test("is refused without a token", async ({ world, expect }) => {
    const home = await world.home(world.config({ hooks: { enabled: true } }));
    const told = await home.run(["config", "validate"]);
    expect([told.code, told.stdout + told.stderr]).toEqual([78, expect.stringContaining("hooks need a token")]);
  });

  test("says which conversations and agents requests may name", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      agents: { list: [{ id: "main", default: true }, { id: "other" }] },
      hooks: {
        enabled: true,
        token: TOKEN,
        defaultSessionKey: "hook:all",
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:", "agent:other:hook:"],
        allowedAgentIds: ["main"],
      },
    });
    world.model.answer(() => ({ text: "ok" }));
    const ask = (more: object) => post(gateway, "/hooks/agent", { message: "x", deliver: false, ...more });
    expect(await ask({})).toBe(202);
    expect(await ask({ sessionKey: "hook:mine" })).toBe(202);
    expect(await ask({ sessionKey: "main" })).toBe(400);
    expect(await ask({ agentId: "other" })).toBe(400);
    await outcomesOf(home, 2);
    expect((await keysOf(gateway)).toSorted()).toEqual(["agent:main:hook:all", "agent:main:hook:mine"]);
  });

  test("says what a mapping does", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      commands: { ownerAllowFrom: ["1001"] },
      agents: { list: [{ id: "main", default: true }, { id: "other" }] },
      hooks: {
        enabled: true,
        token: TOKEN,
        transformsDir: "code",
        mappings: [
          { match: { source: "alarm" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "alarm: {{what}}" },
          { match: { path: "chat" }, messageTemplate: "for the chat", channel: "telegram", to: "2002" },
          { match: { path: "other" }, agentId: "other", sessionKey: "hook:o", sessionMode: "isolated", deliver: false },
          {
            match: { path: "think" },
            model: "fake/fake-1",
            thinking: "off",
            timeoutSeconds: 1,
            deliver: false,
            messageTemplate: "slow",
          },
          { id: "broken-one", match: { path: "bad" }, transform: { module: "a.mjs", export: "missing" } },
          {
            match: { path: "good" },
            deliver: false,
            messageTemplate: "x",
            transform: { module: "a.mjs", export: "change" },
          },
        ],
      },
    });
    await mkdir(join(home.stateDir, "code"));
    await writeFile(join(home.stateDir, "code", "a.mjs"), 'export const change = () => ({ message: "by code" });');
    world.model.answer((asked) =>
      asked.said.includes("slow") ? "hang" : { text: asked.said.includes("for the chat") ? "in the chat" : "hi" },
    );
    world.telegram.say("hello");
    await world.told("hi");
    expect(await post(gateway, "/hooks/any", { source: "alarm", what: "smoke" })).toBe(202);
    expect(await post(gateway, "/hooks/chat", {})).toBe(202);
    await world.told("in the chat", 2002);
    expect(await post(gateway, "/hooks/other", { a: 1 })).toBe(202);
    expect(await post(gateway, "/hooks/good", {})).toBe(202);
    expect(await post(gateway, "/hooks/bad", {})).toBe(500);
    const line = await gateway.logged("a transform of a hook failed");
    expect(JSON.stringify(line)).toMatch(
      /broken-one.*a\.mjs exports no function missing|a\.mjs exports no function missing.*broken-one/,
    );
    await vi.waitFor(() => expect(world.model.calls.map(({ said }) => said).join()).toContain("by code"), PATIENCE);
    await outcomesOf(home, 5);
    world.telegram.say("anything new?");
    await outcomesOf(home, 6);
    expect(world.model.calls.at(-1)?.said).toContain("alarm: smoke");
    expect(await keysOf(gateway)).toContainEqual(expect.stringMatching(/^agent:other:hook:o:run:/));
    expect(await post(gateway, "/hooks/think", {})).toBe(202);
    expect((await outcomesOf(home, 7)).at(-1)).toMatchObject({
      kind: "failed",
      why: expect.stringContaining("timeout"),
    });
  });
});
