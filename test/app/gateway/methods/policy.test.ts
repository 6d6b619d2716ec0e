import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import type { RawClient } from "../../../kit/server/server.ts";

/** What `policy.explain` says to clients about tools and commands. */
let fixture: GatewayFixture;
let client: RawClient;
let approvals: string;

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  const config = z.record(z.string(), z.unknown()).parse(JSON.parse(fixture.config()));
  const more = {
    commands: { ownerAllowFrom: ["telegram:7"] },
    tools: { toolsBySender: { "id:8": { deny: ["exec"] } } },
    agents: {
      defaults: { model: { primary: "fake/fake-1" }, sandbox: { mode: "off" } },
      list: [
        { id: "main", default: true },
        { id: "idle", tools: { exec: { mode: "deny" } } },
        { id: "free", tools: { exec: { mode: "full" } } },
        { id: "listed", tools: { exec: { mode: "allowlist" } } },
        { id: "boxed", sandbox: { mode: "all", backend: "bwrap" } },
      ],
    },
  };
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify({ ...config, ...more }, null, 2));
  approvals = join(fixture.dir, "exec-approvals.json");
  await fixture.restart();
  client = await fixture.client();
});
beforeEach(() => rmSync(approvals, { force: true }));
afterAll(async () => {
  await fixture.close();
});

const explained = z.looseObject({
  owner: z.boolean(),
  exec: z.looseObject({ security: z.unknown(), ask: z.unknown() }),
  command: z.looseObject({ outcome: z.string(), why: z.string(), key: z.string().optional() }).optional(),
  tools: z.array(z.looseObject({ tool: z.string(), allowed: z.boolean() })),
});
const explain = async (params: Record<string, unknown>) =>
  explained.parse(
    z.looseObject({ payload: z.unknown() }).parse(await client.request("policy.explain", params)).payload,
  );

const put = (document: object): void => {
  writeFileSync(approvals, JSON.stringify({ version: 1, ...document }), { mode: 0o600 });
  chmodSync(approvals, 0o600);
};

test("the party and the settings of its commands are told with their keys", async () => {
  expect(await explain({ sender: "telegram:7" })).toMatchObject({ owner: true });
  const { owner, exec } = await explain({ agentId: "idle", sender: "telegram:9" });
  expect(owner).toBe(false);
  expect(exec.security).toMatchObject({ value: "deny", key: "agents.list[1].tools.exec.mode" });
});

test("anybody of a channel is no owner, and has the rules of everybody", async () => {
  expect(await explain({ sender: "telegram:*" })).toMatchObject({ owner: false });
});

test("a tool that does not exist is allowed to nobody, and the one that may be meant is told", async () => {
  const { tools } = await explain({ tool: "exek" });
  expect(tools).toEqual([{ tool: "exek", allowed: false, trace: [], unknown: { near: "exec" } }]);
  expect((await explain({ tool: "quite-another" })).tools).toMatchObject([{ allowed: false, unknown: {} }]);
  const [known] = (await explain({ tool: "exec" })).tools;
  expect(known).toMatchObject({ tool: "exec", allowed: true });
  expect(known).not.toHaveProperty("unknown");
});

test("a conversation in which nothing was said is new, and that of another agent is asked about as the agent's own", async () => {
  expect(await explain({ sessionKey: "nobody-wrote-here" })).toMatchObject({ isNew: true });
  const other = await explain({ agentId: "idle", sessionKey: "agent:main:telegram:default:group:-100" });
  expect(other).toMatchObject({ agentId: "idle", sessionKey: expect.stringContaining("agent:idle:") });
});

describe("a command", () => {
  const CASES: readonly (readonly [params: Record<string, unknown>, outcome: string, key: string | undefined])[] = [
    [{ command: "echo hello" }, "runs", undefined],
    [{ command: "touch notes.txt" }, "asks", undefined],
    [{ command: "touch notes.txt", sender: "telegram:9" }, "asks", undefined],
    [{ command: "touch notes.txt", sender: "telegram:8" }, "refused", 'tools.toolsBySender["id:8"].deny'],
    [{ command: "touch notes.txt", agentId: "idle" }, "refused", "agents.list[1].tools.exec.mode"],
    [{ command: "touch notes.txt", agentId: "free" }, "runs", "agents.list[2].tools.exec.mode"],
    [{ command: "touch notes.txt", agentId: "listed" }, "refused", "agents.list[3].tools.exec.mode"],
    [{ command: "/approve 1 once" }, "refused", undefined],
  ];
  test.each(CASES)("%j: %s by %s", async (params, outcome, key) => {
    const { command, tools } = await explain(params);
    expect(command?.outcome).toBe(outcome);
    expect(command?.key).toBe(key);
    expect(command?.why).toMatch(/^[A-Z].*\.$/);
    expect(tools.map(({ tool }) => tool)).toEqual(["exec"]);
  });

  test("that a row allows runs, and the file is named; its limits count", async () => {
    const allowlist = [{ pattern: "/usr/bin/touch" }, { pattern: "/bin/touch" }];
    put({ agents: { main: { allowlist } } });
    expect((await explain({ command: "touch notes.txt" })).command).toMatchObject({
      outcome: "runs",
      key: "exec-approvals.json",
    });
    put({ agents: { main: { allowlist, ask: "always" } } });
    expect((await explain({ command: "touch notes.txt" })).command).toMatchObject({
      outcome: "asks",
      key: "exec-approvals.json",
    });
    put({ defaults: { security: "deny" } });
    expect((await explain({ command: "echo hello" })).command).toMatchObject({
      outcome: "refused",
      key: "exec-approvals.json",
    });
  });

  test("of an agent in a sandbox is judged without a sandbox being made", async () => {
    const { command } = await explain({ command: "touch notes.txt", agentId: "boxed" });
    expect(["runs", "asks"]).toContain(command?.outcome);
  });
});
