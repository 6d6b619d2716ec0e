import { expect, test } from "vitest";
import { isToolAllowed } from "../../src/tools/policy/decide.ts";
import { stagesFor } from "../../src/tools/policy/stages.ts";
import type { PolicySubject, ToolPolicySettings } from "../../src/types/tool-policy.ts";
import { hostile, newDir, world } from "./kit.ts";

const ANN = { channel: "telegram", id: "42" };
const BEN = { channel: "telegram", id: "77" };
const settings = (more: object = {}): ToolPolicySettings => ({
  global: { key: "tools", ...more },
  workspaceOnly: true,
});
const of = (hasOwnerRights: boolean, ...senders: (typeof ANN)[]): PolicySubject => ({
  hasOwnerRights,
  senders,
  depth: 0,
});

async function tool() {
  const dir = newDir();
  const { servers, names } = world({ servers: { github: hostile("plain", dir) } }, {}, dir);
  await names();
  const [one] = servers.tools();
  if (!one) throw new Error("there is no tool");
  return (more: object, subject: PolicySubject) => isToolAllowed(one, stagesFor(settings(more), subject));
}

test("an owner has the tools of MCP servers, and lists name them one by one, by server and together", async () => {
  const allows = await tool();
  expect(allows({}, of(true))).toBe(true);
  for (const entry of ["github__echo", "github__*", "bundle-mcp", "group:plugins"]) {
    expect(allows({ deny: [entry] }, of(true))).toBe(false);
    expect(allows({ allow: [entry] }, of(true))).toBe(true);
  }
  expect(allows({ allow: ["read"] }, of(true))).toBe(false);
  expect(allows({ profile: "coding" }, of(true))).toBe(true);
  expect(allows({ profile: "minimal" }, of(true))).toBe(false);
});

test("a guest has them only where a list names them; a single * and a profile do not", async () => {
  const allows = await tool();
  for (const more of [{}, { profile: "full" }, { profile: "coding" }, { allow: ["*"] }])
    expect(allows(more, of(false, ANN))).toBe(false);
  for (const more of [{ alsoAllow: ["bundle-mcp"] }, { allow: ["github__*", "read"] }])
    expect(allows(more, of(false, ANN))).toBe(true);
});

test("in a turn of several guests, each of them has to be named", async () => {
  const allows = await tool();
  const more = { toolsBySender: { "id:42": { allow: ["read", "github__echo"] } } };
  expect(allows(more, of(false, ANN))).toBe(true);
  expect(allows(more, of(false, BEN))).toBe(false);
  expect(allows(more, of(false, ANN, BEN))).toBe(false);
  expect(allows(more, of(false))).toBe(false);
});

test("a turn in a sandbox has them only where the list of the sandbox names them", async () => {
  const allows = await tool();
  const subject = { ...of(true), isSandboxed: true };
  expect(allows({}, subject)).toBe(false);
  expect(allows({ sandbox: { alsoAllow: ["bundle-mcp"] } }, subject)).toBe(true);
});
