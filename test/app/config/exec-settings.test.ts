import { describe, expect, it } from "vitest";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { decisionOn } from "../../tools/exec/decision.ts";

type Exec = Record<string, unknown>;

/** The settings of an agent out of `tools.exec`, or out of its own block. */
const execOf = (exec: Exec, isOwn: boolean) => agentWith(exec, isOwn).exec;

function agentWith(exec: Exec, isOwn: boolean) {
  const config = isOwn ? { agents: { list: [{ id: "a", tools: { exec } }] } } : { tools: { exec } };
  const [agent] = resolveAgents(configSchema.parse(config), { home: "/h", stateDir: "/s" });
  return agent!;
}

describe.each([
  ["tools.exec", false],
  ["agents.list[].tools.exec", true],
])("what %s says", (_place, isOwn) => {
  const decide = (command: string, exec: Exec, argPattern = ".*") =>
    decisionOn(command, execOf(exec, isOwn), { rows: [{ pattern: "python3", argPattern }] });

  it("decides how long a command may take, by the names of both eras", () => {
    expect(execOf({ timeoutSec: 7 }, isOwn).timeoutMs).toBe(7000);
    expect(execOf({ timeoutSeconds: 8 }, isOwn).timeoutMs).toBe(8000);
    expect(execOf({ timeoutSec: 7, timeoutSeconds: 0 }, isOwn).timeoutMs).toBe(0);
  });

  it("decides about inline code, safe programs and unanswered questions", async () => {
    expect(await decide("python3 -c 1", {})).toBe("ask");
    expect(await decide("python3 -c 1", { strictInlineEval: false })).toBe("run");
    expect(await decide("wc -l", { safeBins: ["wc"] })).toBe("run");
    expect(await decide("wc -l", { safeBins: ["wc"], safeBinTrustedDirs: ["/opt/bin"] })).toBe("ask");
    const profile = { minPositional: 1, maxPositional: 2, allowedValueFlags: ["-n"], deniedFlags: ["-x"] };
    const profiled = { safeBins: ["tool"], safeBinProfiles: { tool: profile } };
    for (const command of ["tool a", "tool a b", "tool -n 5 a"]) expect(await decide(command, profiled)).toBe("run");
    for (const command of ["tool", "tool a b c", "tool -x a"]) expect(await decide(command, profiled)).toBe("ask");
    expect(execOf({}, isOwn).askFallback).toBe("deny");
    expect(execOf({ askFallback: "full" }, isOwn).askFallback).toBe("full");
  });

  it.each([
    ["deny", "deny", "off"],
    ["allowlist", "allowlist", "off"],
    ["ask", "allowlist", "on-miss"],
    ["auto", "allowlist", "on-miss"],
    ["full", "full", "off"],
  ])("mode %s is security %s with ask %s", (mode, security, ask) => {
    expect(execOf({ mode }, isOwn)).toMatchObject({ security, ask });
    expect(execOf({ security, ask }, isOwn)).toMatchObject({ security, ask });
  });

  it("decides which agents have the tool for patches, and what it may change", () => {
    const applyPatch = { enabled: false, workspaceOnly: false, allowModels: ["openai/gpt-5"] };
    expect(agentWith({ applyPatch }, isOwn).tools.applyPatch).toEqual(applyPatch);
    expect(agentWith({}, isOwn).tools.applyPatch).toEqual({ enabled: true, workspaceOnly: true, allowModels: [] });
  });

  it("is said in one way", () => {
    expect(() => execOf({ mode: "ask", ask: "always" }, isOwn)).toThrow(/cannot be set together/);
    expect(() => execOf({ mode: "full", security: "full" }, isOwn)).toThrow(/cannot be set together/);
  });
});

it("an agent's own mode takes the place of all that `tools.exec` says", () => {
  const agent = (own: Exec, all: Exec) => {
    const config = { tools: { exec: all }, agents: { list: [{ id: "a", tools: { exec: own } }] } };
    return resolveAgents(configSchema.parse(config), { home: "/h", stateDir: "/s" })[0]?.exec;
  };
  expect(agent({ mode: "deny" }, { security: "full", ask: "always" })).toMatchObject({ security: "deny", ask: "off" });
  expect(agent({ ask: "always" }, { mode: "full" })).toMatchObject({ security: "full", ask: "always" });
});
