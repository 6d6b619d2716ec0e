import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startGatewayFixture, TOKEN, type GatewayFixture } from "../../../kit/gateway/in-process.ts";

/** `POST /tools/invoke` over a real gateway. */
let fixture: GatewayFixture;

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  const config = z.record(z.string(), z.unknown()).parse(JSON.parse(fixture.config()));
  const gateway = z.record(z.string(), z.unknown()).parse(config["gateway"]);
  mkdirSync(join(fixture.dir, "workspace"), { recursive: true });
  writeFileSync(join(fixture.dir, "workspace", "notes.txt"), "a note");
  const more = {
    gateway: { ...gateway, tools: { allow: ["exec"], deny: ["ls"] } },
    tools: { deny: ["grep"], exec: { security: "full", ask: "off" } },
    channels: { telegram: { enabled: false, groups: { "-5": { tools: { deny: ["read"] } } } } },
    agents: {
      defaults: { model: { primary: "fake/fake-1" } },
      list: [
        { id: "main", default: true },
        { id: "boxed", sandbox: { mode: "all" } },
      ],
    },
  };
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify({ ...config, ...more }, null, 2));
  await fixture.restart();
});
afterAll(() => fixture.close());

async function invoke(body: Record<string, unknown>): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${fixture.http}/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

const read = { tool: "read", args: { path: "notes.txt" } };

test("a tool that the policy leaves is called", async () => {
  expect(await invoke(read)).toEqual({ status: 200, text: expect.stringContaining("a note") });
});

test.each(["write", "edit", "apply_patch", "process", "gateway"])("%s is denied by default", async (tool) => {
  expect((await invoke({ tool, args: {} })).status).toBe(404);
});

test("gateway.tools.deny and gateway.tools.allow say what clients call over HTTP", async () => {
  expect((await invoke({ tool: "ls", args: { path: "." } })).status).toBe(404);
  const echo = { tool: "exec", args: { command: "echo it-ran" } };
  expect(await invoke(echo)).toEqual({ status: 200, text: expect.stringContaining("it-ran") });
  expect(await invoke({ ...echo, tool: "bash" })).toEqual({ status: 200, text: expect.stringContaining("it-ran") });
});

test("the rules of tools and of the session's chat hold too", async () => {
  expect((await invoke({ tool: "grep", args: { pattern: "note" } })).status).toBe(404);
  expect((await invoke({ ...read, sessionKey: "telegram:default:group:-5" })).status).toBe(404);
  expect((await invoke({ ...read, sessionKey: "telegram:default:group:-6" })).status).toBe(200);
});

test("the gateway's own files stay closed", async () => {
  const answer = await invoke({ tool: "read", args: { path: join(fixture.dir, "openclaw.json") } });
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain(TOKEN);
});

test("commands of an agent in a sandbox run in it", async () => {
  const file = join(fixture.dir, "beside.txt");
  writeFileSync(file, "beside-the-workspace");
  const command = `cat ${file}; echo end`;
  const { text } = await invoke({ tool: "exec", args: { command }, agentId: "boxed" });
  expect(text).toContain("end");
  expect(text).not.toContain("beside-the-workspace");
  const outside = await invoke({ tool: "exec", args: { command } });
  expect(outside.text).toContain("beside-the-workspace");
});
