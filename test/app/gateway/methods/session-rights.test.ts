import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";

/** What `sessions.describe` says about the rights of a turn in a session. */
let fixture: GatewayFixture;
let client: RawClient;

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  const config = z.record(z.string(), z.unknown()).parse(JSON.parse(fixture.config()));
  const more = {
    tools: { deny: ["grep"], exec: { security: "full" } },
    channels: { telegram: { enabled: false, groups: { "-5": { tools: { deny: ["read"] } } } } },
    agents: {
      defaults: { model: { primary: "fake/fake-1" }, sandbox: { mode: "off" } },
      list: [
        { id: "main", default: true },
        {
          id: "boxed",
          sandbox: { mode: "non-main", backend: "bwrap", workspaceAccess: "ro" },
          tools: { exec: { mode: "deny" } },
        },
      ],
    },
  };
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify({ ...config, ...more }, null, 2));
  await fixture.restart();
  client = await fixture.client();
});
afterAll(async () => {
  await fixture.close();
});

const described = z.looseObject({
  payload: z.looseObject({
    sandbox: z.unknown(),
    exec: z.unknown(),
    tools: z.array(z.looseObject({ tool: z.string(), allowed: z.boolean() })),
  }),
});

async function rightsOf(key: string) {
  const { payload } = described.parse(await client.request("sessions.describe", { key }));
  return { ...payload, toolOf: (name: string) => payload.tools.find(({ tool }) => tool === name) };
}

/** The line of the file with this text. */
const lineOf = (text: string): number => fixture.config().slice(0, fixture.config().indexOf(text)).split("\n").length;

test("each tool has the step, the key and the line that decided", async () => {
  const { toolOf } = await rightsOf("telegram:default:group:-5");
  expect(toolOf("grep")).toEqual({
    tool: "grep",
    allowed: false,
    stage: "global",
    key: "tools.deny",
    place: expect.stringMatching(new RegExp(`openclaw\\.json:${lineOf('"deny": [\n      "grep"')}$`)),
  });
  expect(toolOf("read")).toMatchObject({
    allowed: false,
    stage: "chat",
    place: expect.stringContaining("openclaw.json:"),
  });
  expect(toolOf("ls")).toEqual({ tool: "ls", allowed: true });
});

test("the settings of commands have the strictest source", async () => {
  await client.request("sessions.patch", { key: "telegram:default:group:-6", verboseLevel: "on" });
  expect((await rightsOf("plain")).exec).toEqual({
    host: { value: "auto" },
    security: { value: "full", key: "tools.exec.security", place: expect.stringContaining("openclaw.json:") },
    ask: { value: "on-miss" },
  });
  await client.request("sessions.patch", { key: "strict", execAsk: "always", execHost: "sandbox" });
  writeFileSync(
    join(fixture.dir, "exec-approvals.json"),
    JSON.stringify({ version: 1, defaults: { security: "allowlist" }, agents: {} }),
  );
  expect((await rightsOf("strict")).exec).toEqual({
    host: { value: "sandbox", key: "execHost of the session" },
    security: { value: "allowlist", key: "exec-approvals.json" },
    ask: { value: "always", key: "execAsk of the session" },
  });
  expect((await rightsOf("agent:boxed:other")).exec).toMatchObject({
    security: { value: "deny", key: "agents.list[1].tools.exec.mode" },
  });
});

test("the sandbox has its mode and scope, and says why commands are not in it", async () => {
  expect((await rightsOf("plain")).sandbox).toMatchObject({
    commands: false,
    mode: "off",
    why: expect.stringContaining("mode is off"),
  });
  expect((await rightsOf("agent:boxed:main")).sandbox).toMatchObject({
    commands: false,
    mode: "non-main",
    why: expect.stringContaining("main session"),
  });
  expect((await rightsOf("agent:boxed:other")).sandbox).toMatchObject({
    commands: true,
    mode: "non-main",
    backend: "bwrap",
    scope: "agent",
    workspaceAccess: "ro",
  });
});

test("a session of no agent has no rights", async () => {
  const { payload } = z
    .looseObject({ payload: z.looseObject({}) })
    .parse(await client.request("sessions.describe", { key: "agent:nobody:x" }));
  expect(payload).not.toHaveProperty("tools");
});
