import { isToolAllowed } from "../../tools/policy/decide.ts";
import { BUILT_IN_TOOLS } from "../../tools/policy/lint.ts";
import { stagesFor } from "../../tools/policy/stages.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import type { PolicyStage } from "../../types/tool-policy.ts";
import type { Config } from "../config/schema/schema.ts";
import { toolPolicyOf } from "../config/tool-policy.ts";

/** Whether every agent has any of the gateway's tools, even for an operator. */
export function toolsCheck(config: Config): Check {
  return {
    id: "app.tools",
    title: "Tools",
    run: async () => {
      const agents =
        config.agents.list.length === 0
          ? [{ id: config.agents.defaults.agentId ?? DEFAULT_AGENT }]
          : config.agents.list;
      const found = agents.flatMap((agent) => withoutTools(agent, config));
      return found.length > 0 ? found : [{ status: "ok", message: "Every agent has tools." }];
    },
  };
}

function withoutTools(
  agent: Config["agents"]["list"][number] | { readonly id: string },
  config: Config,
): CheckResult[] {
  const stages = stagesFor(toolPolicyOf(config, agent), { hasOwnerRights: true, senders: [], depth: 0 });
  if (BUILT_IN_TOOLS.some((name) => isToolAllowed({ name }, stages))) return [];
  const keys = [...new Set(stages.filter((stage) => takesAll(stage)).map(({ key }) => key))];
  const why = keys.length === 0 ? "the lists of the config together" : keys.join(", ");
  return [
    {
      status: "warn",
      message: `The agent "${agent.id}" has none of the gateway's tools, because of ${why}.`,
      fix: "Name the tools that it needs in alsoAllow, or choose another profile; openclaw policy shows each tool.",
    },
  ];
}

const takesAll = (stage: PolicyStage): boolean =>
  stage.ofNamedFor === undefined && !BUILT_IN_TOOLS.some((name) => isToolAllowed({ name }, [stage]));
