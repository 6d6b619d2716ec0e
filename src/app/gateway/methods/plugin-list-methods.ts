import { createHash } from "node:crypto";
import { z } from "zod";
import type { PluginRecord } from "../../../plugins/host/record.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { FoundPlugin } from "../../../types/plugin/manifest.ts";
import { defined } from "../../../utils/defined.ts";
import { own } from "../../../utils/own.ts";
import { type BundledPlugin, bundledPlugin, bundledPlugins, switchBundled } from "./bundled-plugins.ts";
import { putIntoForce } from "../lifecycle/reload.ts";
import type { Parts } from "../parts/parts.ts";
import { writeByClient } from "./write-by-client.ts";

const pluginId = z.string().min(1).max(200);

const row = z.looseObject({
  id: z.string(),
  name: z.string(),
  version: z.string().optional(),
  packageName: z.string().optional(),
  description: z.string().optional(),
  kind: z.array(z.string()).optional(),
  /** Kind of the place where it was found. */
  origin: z.string(),
  category: z.string().optional(),
  channelIds: z.array(z.string()).optional(),
  removable: z.boolean(),
  installed: z.boolean(),
  enabled: z.boolean(),
  state: z.enum(["enabled", "disabled", "not-installed", "error"]),
  error: z.string().optional(),
});

const names = z.array(z.string());
const grant = z.looseObject({ effective: z.boolean(), configured: z.boolean().optional() });

/** The declarations of a plugin's manifest, and the rights that the config grants the plugin. */
const inspection = z.looseObject({
  ok: z.boolean(),
  plugin: row.pick({
    id: true,
    name: true,
    version: true,
    description: true,
    origin: true,
    installed: true,
    enabled: true,
  }),
  source: z.looseObject({ kind: z.string(), spec: z.string() }),
  declared: z.looseObject({
    channels: names,
    providers: names,
    tools: names,
    contracts: names,
    hooks: names,
    mcpServers: names,
    cliCommands: names,
    cliBackends: names,
    skills: names,
    dangerousConfigFlags: names,
  }),
  reviewToken: z.string(),
  grants: z.looseObject({ hooks: z.looseObject({ allowPromptInjection: grant, allowConversationAccess: grant }) }),
});

const answers = {
  list: z.looseObject({
    plugins: z.array(row),
    diagnostics: z.array(z.looseObject({ level: z.string(), pluginId: z.string(), message: z.string() })),
    mutationAllowed: z.boolean(),
  }),
  setEnabled: z.looseObject({ ok: z.literal(true), plugin: row, restartRequired: z.boolean() }),
};

/** The plugins in the protocol's words. `plugins.loaded` has them as this gateway's own clients read them. */
export const pluginListMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "plugins.list",
    scope: "operator.read",
    params: z.looseObject({}),
    result: answers.list,
    run: async () => {
      const { records } = parts.plugins.plugins;
      const failed = records.filter(({ state }) => state === "failed" || state === "broken");
      return {
        plugins: [...records.map((record) => rowOf(record, parts)), ...bundledPlugins(parts)],
        diagnostics: failed.map(({ id, why = "it does not say why" }) => ({
          level: "error",
          pluginId: id,
          message: `${id}: ${why}`,
        })),
        mutationAllowed: true,
      };
    },
  }),
  defineMethod({
    name: "plugins.inspect",
    scope: "operator.read",
    params: z.looseObject({ pluginId }),
    result: inspection,
    run: async ({ pluginId: id }) => {
      const shipped = bundledPlugin(id, parts);
      return shipped ? inspectedBundled(shipped) : inspected(recordOf(id, parts), parts);
    },
  }),
  defineMethod({
    name: "plugins.setEnabled",
    scope: "operator.admin",
    params: z.looseObject({ pluginId, enabled: z.boolean() }),
    result: answers.setEnabled,
    run: async ({ pluginId: id, enabled }) => {
      const { mode } = parts.live.started.gateway.reload;
      const restartRequired = mode === "off" || mode === "restart";
      const state = enabled ? ("enabled" as const) : ("disabled" as const);
      const shipped = bundledPlugin(id, parts);
      if (shipped) {
        await switchBundled(id, enabled, parts);
        return { ok: true as const, plugin: { ...shipped, enabled, state }, restartRequired };
      }
      const record = recordOf(id, parts);
      await writeByClient([{ path: ["plugins", "entries", id, "enabled"], value: enabled }], parts);
      return { ok: true as const, plugin: { ...rowOf(record, parts), enabled, state }, restartRequired };
    },
  }),
  defineMethod({
    name: "plugins.refresh",
    scope: "operator.admin",
    params: z.looseObject({}),
    result: z.looseObject({ ok: z.boolean() }),
    run: async () => {
      const replaced = await putIntoForce(parts);
      if (replaced.length > 0) await parts.channels.restart(replaced);
      return { ok: true };
    },
  }),
];

/** The protocol's words for what became of a plugin. */
const STATES = { loaded: "enabled", off: "disabled", failed: "error", broken: "error" } as const;

function recordOf(id: string, { plugins }: Parts): PluginRecord {
  const record = plugins.plugins.records.find((one) => one.id === id);
  if (record) return record;
  throw new MethodError("NOT_FOUND", `the gateway has found no plugin "${id}"`);
}

const foundOf = ({ root }: PluginRecord, { live }: Parts): FoundPlugin | undefined =>
  live.loaded.plugins.plugins.find((plugin) => plugin.root === root);

function rowOf(record: PluginRecord, parts: Parts) {
  const { id, version, origin, state, why } = record;
  const { manifest, package: npm } = foundOf(record, parts) ?? {};
  return {
    id,
    name: manifest?.name ?? id,
    ...defined({ version, packageName: npm?.name, description: manifest?.description }),
    ...(manifest && manifest.kinds.length > 0 && { kind: [...manifest.kinds] }),
    origin,
    installed: true,
    enabled: state === "loaded" || state === "failed",
    state: STATES[state],
    ...(STATES[state] === "error" && { error: why ?? "it does not say why" }),
    removable: origin === "global",
  };
}

const NOTHING_DECLARED = {
  channels: [],
  providers: [],
  tools: [],
  contracts: [],
  hooks: [],
  mcpServers: [],
  cliCommands: [],
  cliBackends: [],
  skills: [],
  dangerousConfigFlags: [],
};

/** A plugin that comes with the gateway: it has the rights of the gateway. */
function inspectedBundled({ id, name, description, version, origin, installed, enabled, channelIds }: BundledPlugin) {
  return {
    ok: true,
    plugin: { id, name, description, version, origin, installed, enabled },
    source: { kind: "bundled", spec: id },
    declared: { ...NOTHING_DECLARED, channels: [...(channelIds ?? [])] },
    reviewToken: createHash("sha256").update(`${id}@${version}`).digest("hex"),
    grants: { hooks: { allowPromptInjection: { effective: true }, allowConversationAccess: { effective: true } } },
  };
}

/** The parts that a plugin's manifest declares, and the rights that the config grants it. */
function inspected(record: PluginRecord, parts: Parts) {
  const { manifest } = foundOf(record, parts) ?? {};
  const { id, name, description, version, origin, installed, enabled } = {
    description: undefined,
    version: undefined,
    ...rowOf(record, parts),
  };
  const tools = [...(manifest?.tools ?? [])];
  const hooks = own(parts.live.config.plugins.entries, id)?.hooks;
  const grant = (value: boolean | undefined, isUnset: boolean) => ({
    effective: value ?? isUnset,
    ...(value !== undefined && { configured: value }),
  });
  return {
    ok: true,
    plugin: { id, name, ...defined({ version, description }), origin, installed, enabled },
    source: { kind: "path", spec: record.root },
    declared: {
      ...NOTHING_DECLARED,
      channels: (manifest?.channels ?? []).map((channel) => channel.id),
      providers: [...(manifest?.providers ?? [])],
      tools,
      contracts: tools.map((tool) => `tools: ${tool}`),
      cliCommands: [...(manifest?.cliCommands ?? [])],
    },
    reviewToken: createHash("sha256")
      .update(JSON.stringify(manifest ?? null))
      .digest("hex"),
    grants: {
      hooks: {
        allowPromptInjection: grant(hooks?.allowPromptInjection, true),
        allowConversationAccess: grant(hooks?.allowConversationAccess, false),
      },
    },
  };
}
