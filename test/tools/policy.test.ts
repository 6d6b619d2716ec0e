import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, textResult } from "../../src/tools/define.ts";
import { isToolAllowed } from "../../src/tools/policy.ts";
import { createTools } from "../kit/create-tools.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import type { ToolPolicySettings } from "../../src/types/settings.ts";
import { agentSettings, noRules } from "../kit/tools.ts";

const ALL = ["read", "write", "edit", "grep", "find", "ls", "exec"];

function names(tools: Partial<ToolPolicySettings>, extra: string[] = []): string[] {
  const made = extra.map((name) =>
    defineTool({
      name,
      label: name,
      description: "",
      input: z.object({}),
      hasSideEffects: false,
      run: async () => textResult(""),
    }),
  );
  const settings = agentSettings("/w", { tools });
  return createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], extra: made }).map(
    (tool) => tool.name,
  );
}

describe("the policy", () => {
  it.each<[Partial<ToolPolicySettings>, string[]]>([
    [{}, ALL],
    [{ profile: "minimal" }, []],
    [{ profile: "coding" }, ALL],
    [{ profile: "messaging" }, []],
    [{ profile: "minimal", alsoAllow: ["read"] }, ["read"]],
    [{ allow: ["group:fs"] }, ALL.filter((name) => name !== "exec")],
    [{ deny: ["group:runtime"] }, ALL.filter((name) => name !== "exec")],
    [{ deny: ["bash"] }, ALL.filter((name) => name !== "exec")],
    [{ allow: ["r*", "Exec "] }, ["read", "exec"]],
    [{ allow: ["*"], deny: ["*"] }, []],
    [{ alsoAllow: ["exec"], deny: ["exec"] }, ALL.filter((name) => name !== "exec")],
    [{ deny: ["e.ec", "rea"] }, ALL],
  ])("%j leaves %j", (policy, expected) => {
    expect(names(policy)).toEqual(expected);
  });

  it("holds for tools of plugins, which cannot take the place of a built-in one", () => {
    expect(names({}, ["weather", "exec"])).toEqual([...ALL, "weather"]);
    expect(names({ profile: "coding" }, ["weather", "memory_get"])).toEqual([...ALL, "memory_get"]);
    expect(names({ profile: "coding", alsoAllow: ["weather"] }, ["weather"])).toEqual([...ALL, "weather"]);
  });

  it("knows the groups of tools of other programs", () => {
    const policy: ToolPolicySettings = {
      profile: "messaging",
      allow: [],
      alsoAllow: [],
      deny: [],
      workspaceOnly: true,
    };
    expect(isToolAllowed({ name: "message" }, policy)).toBe(true);
    expect(isToolAllowed({ name: "session_status" }, policy)).toBe(true);
    expect(isToolAllowed({ name: "cron" }, policy)).toBe(false);
    expect(isToolAllowed({ name: "cron" }, { ...policy, alsoAllow: ["group:openclaw"] })).toBe(true);
  });
});

it("every built-in tool has a schema", () => {
  for (const tool of createTools({
    settings: agentSettings("/w"),
    rules: noRules,
    rights: "owner",
    deniedPaths: [],
  })) {
    expect(toolSchema(tool)).toMatchObject({ type: "object" });
    expect(tool.description.length).toBeGreaterThan(20);
  }
});
