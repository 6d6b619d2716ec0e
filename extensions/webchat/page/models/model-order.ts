import type { Answers } from "openclaw/plugin-sdk/answers";
import { fields, list, strings } from "../model/json.ts";

type Listed = Answers["agents.list"];
type Model = Answers["models.list"]["models"][number];
type Config = Answers["config.get"];

/** The parameters of `config.patch` for a change. */
type Patch = Readonly<Record<string, unknown>>;

/** `provider/id`, as the config names a model. */
export const refOf = ({ provider, id }: Pick<Model, "provider" | "id">): string => `${provider}/${id}`;

/** The models of an agent in the order in which they are asked. */
export interface ModelOrder {
  readonly refs: readonly string[];
  /** Whether the gateway has found out the first one, because the config names none. */
  readonly isFoundOut: boolean;
  /** Whether other agents without models of their own ask the same. */
  readonly isShared: boolean;
}

/** The order of an agent; empty until it is known. */
export function modelOrderOf(
  agentId: string,
  answers: { agents: Listed | undefined; models: readonly Model[]; config: Config | undefined },
): ModelOrder {
  const { primary, fallbacks = [] } = answers.agents?.agents.find(({ id }) => id === agentId)?.model ?? {};
  const found = answers.models.find(({ tags }) => tags?.includes("default"));
  const first = primary ?? (found && refOf(found));
  return {
    refs: [...new Set([...(first === undefined ? [] : [first]), ...fallbacks])],
    isFoundOut: primary === undefined,
    isShared: (answers.agents?.agents.length ?? 0) > 1 && placeOf(agentId, answers.config) === "defaults",
  };
}

type Place = "defaults" | "entries" | "list";

/** Where the config names the models of an agent. */
function placeOf(agentId: string, config: Config | undefined): Place {
  const agents = fields(fields(config?.sourceConfig)["agents"]);
  if (fields(fields(agents["entries"])[agentId])["model"] !== undefined) return "entries";
  const own = list(agents["list"]).find((entry) => fields(entry)["id"] === agentId);
  return fields(own)["model"] === undefined ? "defaults" : "list";
}

/** The change of the config that makes an agent ask these models in this order. */
export function orderPatch(agentId: string, config: Config, [primary, ...fallbacks]: readonly string[]): Patch {
  const model = { primary, fallbacks };
  const below = {
    defaults: { defaults: { model } },
    entries: { entries: { [agentId]: { model } } },
    list: { list: [{ id: agentId, model }] },
  };
  const paths = {
    defaults: "agents.defaults.model.fallbacks",
    entries: `agents.entries.${agentId}.model.fallbacks`,
    list: "agents.list[].model.fallbacks",
  };
  const place = placeOf(agentId, config);
  return {
    raw: JSON.stringify({ agents: below[place] }),
    replacePaths: [paths[place]],
    baseHash: config.hash,
  };
}

/** The list with the item at one place moved to another. */
export function withMoved<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const [item] = items.slice(from, from + 1);
  if (item === undefined) return items;
  const others = items.filter((_, at) => at !== from);
  return [...others.slice(0, to), item, ...others.slice(to)];
}

/** The ids of the keys of a provider as the config orders them; undefined where it does not. */
export function keyOrder(provider: string, config: Config | undefined): readonly string[] | undefined {
  const order = fields(fields(fields(config?.sourceConfig)["auth"])["order"])[provider];
  return order === undefined ? undefined : strings(order);
}

/** The change of the config that orders the keys of a provider; without ids the usual rule holds again. */
export function keyOrderPatch(provider: string, config: Config, ids: readonly string[] | undefined): Patch {
  const order = { [provider]: ids === undefined || ids.length === 0 ? null : ids };
  return {
    raw: JSON.stringify({ auth: { order } }),
    replacePaths: [`auth.order.${provider}`],
    baseHash: config.hash,
  };
}

/** The change that takes the key out of the config. */
export const noKeyPatch = (provider: string, config: Config): Patch => ({
  raw: JSON.stringify({ models: { providers: { [provider]: { apiKey: null } } } }),
  baseHash: config.hash,
});
