import type { AgentToolsConfig, ToolsConfig } from "../../tools/config.ts";
import { loopSettingsOf } from "../../tools/loop-config.ts";
import type { ApplyPatchSettings, ToolPolicySettings, ToolRules } from "../../types/tool-policy.ts";
import { pathOfAgent } from "./keys/agent-key.ts";
import { showPath } from "./schema/problem.ts";
import type { Config } from "./schema/schema.ts";

/** The config's rules for the tools of an agent: those of `tools`, and those of the agent's own entry. */
export function toolPolicyOf(
  { tools, agents }: Pick<Config, "tools" | "agents">,
  entry: { readonly id: string; readonly tools?: AgentToolsConfig | undefined },
): ToolPolicySettings {
  return {
    global: rulesOf("tools", tools),
    ...(entry.tools && { agent: rulesOf(showPath([...pathOfAgent(agents, entry.id), "tools"]), entry.tools) }),
    workspaceOnly: entry.tools?.fs.workspaceOnly ?? tools.fs.workspaceOnly,
    applyPatch: patchSettingsOf(tools.exec, entry.tools?.exec),
    confirmUntrusted: tools.untrusted.confirm,
    loops: loopSettingsOf(tools.loopDetection, entry.tools?.loopDetection),
    maxSpawnDepth: agents.defaults.subagents.maxSpawnDepth,
    ...planOff(tools),
  };
}

function planOff({ updatePlan, experimental }: ToolsConfig): Pick<ToolPolicySettings, "planOff"> {
  if (updatePlan === false) return { planOff: "tools.updatePlan" };
  return updatePlan === undefined && experimental.planTool === false ? { planOff: "tools.experimental.planTool" } : {};
}

type Section = Pick<
  AgentToolsConfig,
  "profile" | "allow" | "alsoAllow" | "deny" | "byProvider" | "toolsBySender" | "sandbox" | "subagents"
> & { readonly policy?: AgentToolsConfig["policy"] };

function rulesOf(key: string, section: Section): ToolRules {
  const { profile, allow, alsoAllow, deny, byProvider, toolsBySender, sandbox, subagents, policy } = section;
  return {
    key,
    ...(profile && { profile }),
    ...(allow && { allow }),
    ...(alsoAllow && { alsoAllow }),
    ...(deny && { deny }),
    ...(policy && { policy }),
    ...(byProvider && { byProvider }),
    ...(toolsBySender && { toolsBySender }),
    ...(sandbox?.tools && { sandbox: sandbox.tools }),
    ...(subagents?.tools && { subagents: subagents.tools }),
  };
}

const patchSettingsOf = (
  { applyPatch: all }: ToolsConfig["exec"],
  own?: AgentToolsConfig["exec"],
): ApplyPatchSettings => ({
  enabled: own?.applyPatch.enabled ?? all.enabled,
  workspaceOnly: own?.applyPatch.workspaceOnly ?? all.workspaceOnly,
  allowModels: own?.applyPatch.allowModels ?? all.allowModels,
});
