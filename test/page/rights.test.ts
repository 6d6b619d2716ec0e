import { expect, test } from "vitest";
import { readRights } from "../../extensions/webchat/page/settings/rights.ts";

const DESCRIBED = { key: "telegram:default:1", session: null, settings: {} };

test("tools, sandbox and commands are read with what says so", () => {
  const rights = readRights({
    ...DESCRIBED,
    sandbox: {
      commands: false,
      why: "No session is confined.",
      mode: "off",
      backend: "bwrap",
      works: false,
      scope: "agent",
    },
    exec: {
      host: { value: "auto" },
      security: { value: "full" },
      ask: { value: "always", key: "tools.exec.ask", place: "openclaw.json:7" },
    },
    tools: [
      { tool: "grep", allowed: false, stage: "global", key: "tools.deny", place: "openclaw.json:3" },
      { tool: "ls", allowed: true },
    ],
  });
  expect(rights.sandbox).toEqual([
    { label: "Commands run", value: "on the machine", source: "No session is confined." },
    { label: "Mode", value: "off", source: undefined },
    { label: "Backend", value: "bwrap", source: "does not work on this machine" },
    { label: "Scope", value: "agent", source: undefined },
  ]);
  expect(rights.exec).toEqual([
    { label: "Host", value: "auto", source: "default" },
    { label: "Security", value: "full", source: "default" },
    { label: "Ask", value: "always", source: "tools.exec.ask (openclaw.json:7)" },
  ]);
  expect(rights.tools).toEqual([
    { tool: "grep", isAllowed: false, source: "global: tools.deny (openclaw.json:3)" },
    { tool: "ls", isAllowed: true, source: undefined },
  ]);
});

test("an older gateway, which sends none of it, gives empty lists", () => {
  expect(readRights(DESCRIBED)).toEqual({ sandbox: [], exec: [], tools: [] });
});
