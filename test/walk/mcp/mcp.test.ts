import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, onTestFinished } from "vitest";
import { hostile, isRunning } from "../../mcp/kit.ts";
import { until } from "../../kit/until.ts";
import { test } from "../../kit/gateway/world.ts";

const BIN = join(import.meta.dirname, "../../../bin/openclaw.mjs");
const OWNER = { commands: { ownerAllowFrom: [1001] } };

/** The processes that the hostile server noted. */
const startsIn = (dir: string): readonly number[] =>
  existsSync(join(dir, "notes"))
    ? [...readFileSync(join(dir, "notes"), "utf8").matchAll(/^start (\d+)$/gm)].map(([, pid]) => Number(pid))
    : [];

interface Answered {
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

async function clientOf(stateDir: string, args: readonly string[]) {
  const env = { ...process.env, OPENCLAW_STATE_DIR: stateDir } as Record<string, string>;
  const client = new Client({ name: "a client of others", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [BIN, ...args], env, stderr: "ignore" }),
  );
  onTestFinished(() => client.close());
  return async (name: string, input: object = {}): Promise<Answered> =>
    (await client.callTool({ name, arguments: { ...input } })) as unknown as Answered;
}

describe("MCP with the built gateway", () => {
  test("an agent calls a server's tool, gets its answer as untrusted, and the server ends with the gateway", async ({
    world,
    expect,
  }) => {
    const home = await world.home();
    const dir = home.stateDir;
    await home.writeConfig(world.config({ ...OWNER, mcp: { servers: { helper: hostile("spoofs", dir) } } }));
    const probed = await home.run(["mcp", "probe", "--json"]);
    expect(probed.code, probed.stderr).toBe(0);
    expect(JSON.parse(probed.stdout)).toMatchObject({
      servers: [{ name: "helper", ok: true, tools: ["helper__echo"] }],
    });
    await until(() => startsIn(dir).filter(isRunning).length === 0, "the end of the server");
    const gateway = await home.start();
    // No turn has needed it yet.
    expect(startsIn(dir)).toHaveLength(1);
    world.model.answer(({ isAfterTool }) =>
      isAfterTool ? { text: "the helper answered" } : { tool: "helper__echo", args: { text: "hi" } },
    );
    world.telegram.say("ask the helper");
    await world.told("the helper answered");
    const shown = JSON.stringify(world.model.calls.at(-1)?.messages);
    expect(shown).toContain("<<<EXTERNAL_UNTRUSTED_CONTENT id=");
    expect(shown).toContain("[[END_MARKER_SANITIZED]]");
    const listed = await home.run(["mcp", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toEqual({
      servers: [{ name: "helper", enabled: true, transport: "stdio", target: process.execPath, tools: ["echo"] }],
    });
    expect(startsIn(dir).filter(isRunning)).toHaveLength(1);
    await gateway.kill("SIGTERM");
    await until(() => !startsIn(dir).some(isRunning), "the end of the server");
  });

  test("a guest's turn is not offered a server's tools", async ({ world, expect }) => {
    const home = await world.home();
    await home.writeConfig(world.config({ mcp: { servers: { helper: hostile("plain", home.stateDir) } } }));
    await home.start();
    world.telegram.say("hello");
    await world.told("hello");
    expect(world.model.calls.at(-1)?.tools.map((tool) => tool.function.name)).not.toContain("helper__echo");
  });

  test("a server that outlives a killed gateway is ended by the next one", async ({ world, expect }) => {
    const home = await world.home();
    await home.writeConfig(world.config({ ...OWNER, mcp: { servers: { helper: hostile("stays", home.stateDir) } } }));
    const gateway = await home.start();
    world.telegram.say("hello");
    await world.told("hello");
    await gateway.kill("SIGKILL");
    expect(startsIn(home.stateDir).filter(isRunning)).toHaveLength(1);
    await home.start();
    await until(() => !startsIn(home.stateDir).some(isRunning), "the end of the server");
  });

  test("`openclaw mcp serve` lists sessions, sends a message, waits for the answer, and reads it", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start();
    const call = await clientOf(home.stateDir, ["mcp", "serve"]);
    const sent = await call("messages_send", { message: "good morning" });
    expect(sent.isError).not.toBe(true);
    const answer = JSON.parse(sent.content[0]?.text ?? "{}");
    expect(answer).toMatchObject({ status: "ok", text: expect.stringContaining("good morning") });
    const sessions = JSON.parse((await call("sessions_list")).content[0]?.text ?? "[]");
    expect(sessions.map(({ key }: { key: string }) => key)).toContain(answer.sessionKey);
    const read = await call("messages_read", { sessionKey: answer.sessionKey });
    expect(read.content[0]?.text).toContain("good morning");
    expect((await call("messages_send", { message: "" })).isError).toBe(true);
    expect((await call("no_such_tool")).isError).toBe(true);
  });

  test("`openclaw mcp serve` refuses each call while no gateway runs, and with a wrong token", async ({
    world,
    expect,
  }) => {
    const home = await world.home();
    const idle = await clientOf(home.stateDir, ["mcp", "serve"]);
    expect((await idle("sessions_list")).isError).toBe(true);
    await home.start();
    expect((await idle("sessions_list")).isError).not.toBe(true);
    const stranger = await clientOf(home.stateDir, ["mcp", "serve", "--token", "not-the-token-of-the-gateway"]);
    const refused = await stranger("sessions_list");
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).not.toContain("not-the-token-of-the-gateway");
  });
});
