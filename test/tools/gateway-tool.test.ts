import { expect, it } from "vitest";
import { gatewayTool } from "../../src/tools/gateway/gateway.ts";
import { runTool } from "../../src/tools/run.ts";
import type { ConfigEdit, GatewayActs } from "../../src/types/gateway-acts.ts";
import type { Principal } from "../../src/types/run/principal.ts";
import { createTools } from "../kit/create-tools.ts";
import { agentSettings, noRules, textOf, toolContext } from "../kit/tools.ts";

const written: (readonly ConfigEdit[])[] = [];
/** Writes whatever the tool lets through. */
const actsFor = (edits: readonly ConfigEdit[]): GatewayActs => ({
  config: async () => ({ hash: "h", value: {} }),
  schema: async () => ({}),
  edits: async () => edits,
  async write(all) {
    written.push(all);
    return undefined;
  },
  async restart(asked) {
    restarts.push(asked);
    return undefined;
  },
});
const restarts: unknown[] = [];

const toolsOf = (edits: readonly ConfigEdit[], principal?: Principal, allow?: readonly string[]) =>
  createTools({
    settings: agentSettings("/w", { tools: { global: { key: "tools", ...(allow && { allow }) } } }),
    rules: noRules,
    rights: "owner",
    deniedPaths: [],
    ...(principal && { acting: { principal } }),
    own: [gatewayTool(actsFor(edits))],
  });

async function patch(path: ConfigEdit["path"], value: unknown) {
  written.length = 0;
  const tool = toolsOf([{ path, value }]).find(({ name }) => name === "gateway");
  if (!tool) return expect.fail("there is no tool gateway");
  return runTool(tool, { action: "config.patch", raw: "{}", baseHash: "h" }, toolContext("/w"));
}

it.each([
  [["tools", "exec", "security"], "full"],
  [["tools", "profile"], "full"],
  [["tools", "elevated", "allowFrom"], { telegram: ["*"] }],
  [["tools"], undefined],
  [["gateway", "auth", "token"], "known"],
  [["gateway"], undefined],
  [["auth", "order"], {}],
  [["models", "providers", "fake", "baseUrl"], "http://evil.example"],
  [["channels", "telegram", "allowFrom"], ["*"]],
  [["channels", "telegram", "groups", "*", "tools"], {}],
  [["channels", "discord", "execApprovals", "approvers"], ["1"]],
  [["commands", "ownerAllowFrom"], ["telegram:77"]],
  [["bindings"], []],
  [["agents", "list"], [{ id: "main", sandbox: { mode: "off" } }]],
  [["agents", "list", 0, "tools"], {}],
  [["agents", "defaults", "sandbox", "mode"], "off"],
  [["agents", "defaults", "workspace"], "/"],
  [["agents", "defaults", "subagents", "allowAgents"], ["*"]],
  [["agents", "defaults"], {}],
  [["agents"], undefined],
  [["plugins", "entries", "x", "enabled"], true],
  [["hooks", "enabled"], true],
  [["mcp", "servers", "x", "command"], "sh"],
  [["skills", "entries", "x", "env"], {}],
  [["env", "vars", "NODE_OPTIONS"], "--require /tmp/x"],
  [["approvals", "exec", "enabled"], false],
  [["approvals", "exec", "targets"], [{ channel: "telegram", to: "77" }]],
  [["agents", "defaults", "elevatedDefault"], "full"],
  [["session", "identityLinks"], {}],
  [["session"], undefined],
  [["audio", "transcription", "command"], ["sh"]],
  [["logging", "level"], "silent"],
  [["a-new-section"], true],
  [[], { tools: {} }],
  [["messages.x", "y"], 1],
  [["messages", "responsePrefix"], "${ANTHROPIC_API_KEY}"],
  [["messages", "queue", "mode"], { source: "exec", id: ["sh"] }],
  [["agents", "defaults", "model"], { primary: "a/b", fallbacks: ["${KEY}"] }],
])("never lets a model write %j", async (path, value) => {
  const result = await patch(path, value);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^Nothing was changed\. An agent must not change:\n- .+: .{10,}/);
  expect(textOf(result)).toContain(path.length === 0 ? "the whole config" : path.join("."));
  expect(written).toEqual([]);
});

it("writes what an agent may change, and nothing of a change that is refused in part", async () => {
  for (const path of [
    ["messages", "responsePrefix"],
    ["agents", "defaults", "model", "primary"],
    ["session", "reset", "atHour"],
  ]) {
    const result = await patch(path, "x");
    expect(result.isError).not.toBe(true);
    expect(written).toEqual([[{ path, value: "x" }]]);
  }
  written.length = 0;
  const both = toolsOf([
    { path: ["messages", "responsePrefix"], value: "x" },
    { path: ["tools", "deny"], value: [] },
  ]).find(({ name }) => name === "gateway");
  const result = both && (await runTool(both, { action: "config.patch", raw: "{}", baseHash: "h" }, toolContext("/w")));
  expect(result && textOf(result)).toContain("- tools.deny: it says what agents may do");
  expect(written).toEqual([]);
});

it("asks a person before it writes or restarts once untrusted content was read", async () => {
  const tool = toolsOf([]).find(({ name }) => name === "gateway");
  const riskOf = async (action: string) => tool?.riskOf?.({ action }, { workspace: "/w" });
  const get = await riskOf("config.get");
  const others = [await riskOf("config.patch"), await riskOf("config.apply"), await riskOf("restart")];
  expect(get).toBeUndefined();
  for (const risk of others) expect(JSON.stringify(risk)).toMatch(/config|restarts/);
});

it("restarts after the time and with the words of older prompts, and updates nothing", async () => {
  const tool = toolsOf([]).find(({ name }) => name === "gateway");
  const said = async (input: object) => tool && textOf(await runTool(tool, input, toolContext("/w")));
  expect(await said({ action: "restart" })).toContain("in a moment");
  const asked = { action: "restart", note: "new model.", continuationMessage: "Go on.", restartDelayMs: 2000 };
  expect(await said(asked)).toContain("in 2 s");
  expect(restarts).toMatchObject([{ delayMs: 0 }, { delayMs: 2000, note: "new model. Go on." }]);
  expect(await said({ action: "update.run" })).toContain("An agent does not update the gateway");
  expect(tool?.jsonSchema).not.toHaveProperty("properties.delayMs");
});

it("is for owners alone, whatever the lists of the config name", () => {
  const names = (principal?: Principal) => toolsOf([], principal, ["gateway", "*"]).map(({ name }) => name);
  expect(names()).toContain("gateway");
  for (const principal of [
    { kind: "sender", id: "telegram:77" },
    { kind: "member", id: "telegram:77" },
    { kind: "automation", id: "cron", setUpBy: "guest" },
    { kind: "plugin", id: "x", setUpBy: "guest" },
  ] as const)
    expect(names(principal)).not.toContain("gateway");
});
