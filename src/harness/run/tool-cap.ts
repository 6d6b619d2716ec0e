import { isToolAllowed } from "../../tools/policy/decide.ts";
import { runCap } from "../../tools/policy/stages.ts";
import type { PromptAdditions } from "../../types/hook/hooks.ts";
import type { Tool } from "../../types/run/tool.ts";
import type { RunRequest } from "../request.ts";

/** The run with those of its tools that the hooks leave it, on every model. A name that it does not have adds none. */
export function capTools(request: RunRequest, { toolCaps = [] }: PromptAdditions): RunRequest {
  if (toolCaps.length === 0) return request;
  const stages = toolCaps.flatMap((names) => runCap(names));
  const left = (tools: readonly Tool[]) => tools.filter(({ name }) => isToolAllowed({ name }, stages));
  const { toolsOn, removed } = request;
  const tools = left(request.tools);
  const capped = new Set(request.tools.filter((tool) => !tools.includes(tool)).map(({ name }) => name));
  return {
    ...request,
    tools,
    removed: (name, model) =>
      capped.has(name) ? { tool: name, stage: "run", key: "toolsAllow of a plugin" } : removed?.(name, model),
    ...(toolsOn && { toolsOn: (model) => left(toolsOn(model)) }),
  };
}
