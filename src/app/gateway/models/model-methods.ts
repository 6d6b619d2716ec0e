import { z } from "zod";
import { modelsAnswer } from "../../../types/gateway-status.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { modelName, THINK_LEVELS, type ModelInfo, type ModelRef } from "../../../types/run/model.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { own } from "../../../utils/own.ts";
import { agentCalled } from "../parts/agent-called.ts";
import { keyMethods } from "./key-methods.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1).max(200);

/** The methods that show models and their keys, and try keys. */
export const modelMethods = (parts: Pick<Parts, "live" | "core">): readonly Method[] => [
  defineMethod({
    name: "models.list",
    scope: "operator.read",
    params: z.looseObject({
      agentId: name.optional(),
      provider: name.optional(),
      /** `configured`, `provider-config`: only models of providers that the config describes. */
      view: z.enum(["default", "configured", "provider-config", "all"]).default("default"),
    }),
    result: modelsAnswer,
    run: async (asked) => ({ models: await shownModels(asked, parts) }),
  }),
  ...keyMethods(parts),
];

interface ModelsAsked {
  readonly agentId?: string | undefined;
  readonly provider?: string | undefined;
  readonly view?: "default" | "configured" | "provider-config" | "all";
}

/** The models of an agent as the protocol has them. */
export async function shownModels(
  { agentId: id, provider, view = "default" }: ModelsAsked,
  parts: Pick<Parts, "live" | "core">,
) {
  const agent = agentCalled(id, parts);
  const all = await parts.core.models.of(agent.id).list(view === "all" ? "all" : "usable");
  const described = parts.live.config.models.providers;
  const isInView = (model: ModelInfo) =>
    view === "default" || view === "all" || own(described, model.provider) !== undefined;
  const wanted = all.filter((model) => isInView(model) && (provider === undefined || model.provider === provider));
  const primary = agent.model.primary ?? (await parts.core.models.of(agent.id).choose());
  return wanted.map((model) => shownModel(model, agent, primary));
}

function shownModel(model: ModelInfo & { available: boolean }, agent: AgentSettings, primary: ModelRef) {
  const { id, name: called, provider, contextWindow, reasoning, available, input } = model;
  const ref = modelName(model);
  const [alias] = Object.entries(agent.modelAliases ?? {}).find(([, target]) => target === ref) ?? [];
  const levels = reasoning ? THINK_LEVELS : (["off"] as const);
  return {
    id,
    name: called,
    provider,
    contextWindow,
    reasoning,
    available,
    input: [...input],
    ...(alias !== undefined && { alias }),
    ...(ref === modelName(primary) && { tags: ["default"] }),
    thinkingLevels: levels.map((level) => ({ id: level, label: level })),
    thinkingDefault: reasoning ? agent.thinking : "off",
  };
}
