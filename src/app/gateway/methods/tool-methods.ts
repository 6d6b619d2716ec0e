import { z } from "zod";
import { operatorIn } from "../../../dispatch/clients/tool-calls.ts";
import { MCP_GROUPS, prefixOf } from "../../../mcp/tools/names.ts";
import { BUILT_IN_TOOLS } from "../../../tools/policy/lint.ts";
import { GROUPS } from "../../../tools/policy/names.ts";
import { profilesWith } from "../../../tools/policy/stages.ts";
import { toolAnswers, type TOOL_SOURCES } from "../../../types/answers/tools.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { Tool } from "../../../types/run/tool.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { mainKey } from "../parts/heartbeat-place.ts";
import type { Parts } from "../parts/parts.ts";
import { agentCalled } from "../parts/agent-called.ts";

const id = z.string().min(1).max(200).optional();
type Source = (typeof TOOL_SOURCES)[number];

/** The methods that show tools: all that there are, and those that an operator's turn in a session has. */
export const toolMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "tools.catalog",
    scope: "operator.read",
    params: z.looseObject({ agentId: id, includePlugins: z.boolean().default(true) }),
    result: toolAnswers.catalog,
    run: async ({ agentId, includePlugins }) => catalogOf(agentCalled(agentId, parts), includePlugins, parts),
  }),
  defineMethod({
    name: "tools.effective",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam(), agentId: id }),
    result: toolAnswers.effective,
    run: async ({ sessionKey, agentId }) => {
      const owner = agentOf(sessionKey, parts.live.defaultAgent.id);
      if (agentId !== undefined && agentId !== owner)
        throw new MethodError("INVALID_REQUEST", `the session belongs to the agent ${owner}`);
      return effectiveIn(sessionKey, agentCalled(owner, parts), parts);
    },
  }),
];

const PROFILES = [
  { id: "minimal", label: "Minimal" },
  { id: "coding", label: "Coding" },
  { id: "messaging", label: "Messaging" },
  { id: "full", label: "Full" },
] as const;

const GROUP_LABELS: Readonly<Record<string, string>> = { fs: "Files", ui: "UI" };
const OTHER = "other";

interface ShownTool {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly source: Source;
  readonly pluginId?: string;
  readonly mcpServer?: string;
}

/** Every tool of the gateway and its plugins, whatever the agent's policy says. */
async function catalogOf(agent: AgentSettings, withPlugins: boolean, parts: Parts) {
  const { contributions } = parts.live;
  const made = await toolsOf(agent, parts);
  const names = [...new Set([...BUILT_IN_TOOLS, ...contributions.tools.map(({ name }) => name), ...made.keys()])];
  const tools = names.map((name) => ({
    ...shownTool(name, made.get(name), parts),
    defaultProfiles: [...profilesWith(name)],
  }));
  const core = tools.filter(({ source }) => source === "core");
  const plugin = withPlugins ? tools.filter(({ source }) => source !== "core") : [];
  return {
    agentId: agent.id,
    profiles: PROFILES.map((profile) => ({ ...profile })),
    groups: [
      ...[...Map.groupBy(core, ({ id: name }) => groupOf(name))].map(([group, own]) => ({
        id: group,
        label: GROUP_LABELS[group] ?? titleOf(group),
        source: "core" as const,
        tools: own,
      })),
      ...[...Map.groupBy(plugin, ({ pluginId, mcpServer }) => pluginId ?? mcpServer ?? OTHER)].map(([name, own]) => ({
        id: `plugin:${name}`,
        label: name,
        source: "plugin" as const,
        pluginId: name,
        tools: own.map((tool) => ({ ...tool, source: "plugin" as const })),
      })),
    ],
  };
}

/** The tools that an operator's turn would have if the agent's policy took none away. */
export async function toolsOf(agent: AgentSettings, parts: Parts): Promise<ReadonlyMap<string, Tool>> {
  const session = mainKey(agent.id, parts.live.defaultAgent.id);
  const { agent: _own, ...policy } = agent.tools;
  return toolsIn(session, { ...agent, tools: { ...policy, global: { key: "tools" } } }, parts);
}

const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

function groupOf(name: string): string {
  const [group] = Object.entries(GROUPS).find(([, names]) => names.includes(name)) ?? [];
  return group?.slice("group:".length) ?? OTHER;
}

const EFFECTIVE: readonly (readonly [Source, string])[] = [
  ["core", "Built-in tools"],
  ["plugin", "Connected tools"],
  ["mcp", "Tools of MCP servers"],
];

async function effectiveIn(sessionKey: SessionKey, agent: AgentSettings, parts: Parts) {
  const made = await toolsIn(sessionKey, agent, parts);
  const tools = [...made].map(([name, tool]) => ({
    ...shownTool(name, tool, parts),
    rawDescription: tool.description,
  }));
  return {
    agentId: agent.id,
    profile: agent.tools.agent?.profile ?? agent.tools.global.profile ?? "full",
    groups: EFFECTIVE.flatMap(([source, label]) => {
      const own = tools.filter((tool) => tool.source === source);
      return own.length === 0 ? [] : [{ id: source, label, source, tools: own }];
    }),
  };
}

/** The tools that a turn of the operator in a session has, by name; without a model, rules about models hold for none. */
async function toolsIn(
  key: SessionKey,
  agent: AgentSettings,
  { core, stopping }: Parts,
): Promise<ReadonlyMap<string, Tool>> {
  const { runs } = core.ports;
  await runs.toolsReady(stopping);
  const set = runs.tools(agent, operatorIn(key, core.ports));
  const model =
    agent.model.primary ??
    (await core.models
      .of(agent.id)
      .choose()
      .catch(() => undefined));
  return new Map((model ? set.on(model) : set.tools).map((tool) => [tool.name, tool]));
}

function shownTool(name: string, tool: Tool | undefined, parts: Pick<Parts, "live">): ShownTool {
  const texts = { id: name, label: tool?.label ?? name, description: tool?.description ?? "" };
  const server = Object.keys(parts.live.config.mcp.servers).find((one) => name.startsWith(prefixOf(one)));
  if (server !== undefined) return { ...texts, source: "mcp", mcpServer: server };
  const groups = parts.live.contributions.tools.find((one) => one.name === name)?.groups ?? [];
  const pluginId = groups.find((group) => !MCP_GROUPS.includes(group));
  return pluginId === undefined ? { ...texts, source: "core" } : { ...texts, source: "plugin", pluginId };
}
