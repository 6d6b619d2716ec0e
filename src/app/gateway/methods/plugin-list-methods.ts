import { createHash } from "node:crypto";
import { z } from "zod";
import type { PluginRecord } from "../../../plugins/host/record.ts";
import { pluginAnswers, pluginRow as row } from "../../../types/answers/plugins.ts";
import { type Answer, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { FoundPlugin } from "../../../types/plugin/manifest.ts";
import { defined } from "../../../utils/defined.ts";
import { own } from "../../../utils/own.ts";
import { type BundledPlugin, bundledPlugin, bundledPlugins, bundledSwitch } from "../../plugins/bundled-plugins.ts";
import { putIntoForce } from "../lifecycle/reload.ts";
import type { Parts } from "../parts/parts.ts";
import { writeByClient } from "./write-by-client.ts";

const pluginId = z.string().min(1).max(200);

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

/** A plugin as the catalog shows it. */
const entry = z.looseObject({
  id: z.string(),
  catalog: z.looseObject({
    name: z.string(),
    packageName: z.string().optional(),
    summary: z.string().optional(),
    official: z.boolean(),
    categories: z.array(z.string()),
    latestVersion: z.string().optional(),
    publishedToClawHub: z.boolean(),
  }),
  local: z.looseObject({
    present: z.boolean(),
    installed: z.boolean(),
    enabled: z.boolean(),
    state: row.shape.state,
    pluginId: z.string(),
    action: z.literal("manage"),
  }),
});

const browseParams = z.looseObject({
  query: z.string().max(200).optional(),
  intent: z.enum(["all", "bundled", "trending", "official", "featured"]).optional(),
  category: z.string().max(64).optional(),
  /** The `nextCursor` of the page before. */
  cursor: z
    .string()
    .regex(/^\d{1,6}$/, "the nextCursor of an answer")
    .optional(),
  pageSize: z.int().min(1).max(100).default(100),
});

const browsed = z.looseObject({ items: z.array(entry), nextCursor: z.string().optional() });

/** The plugins in the protocol's words. `plugins.loaded` has them as this gateway's own clients read them. */
export const pluginListMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "plugins.list",
    scope: "operator.read",
    params: z.looseObject({}),
    result: pluginAnswers.list,
    run: async () => {
      const { records } = parts.plugins.plugins;
      const failed = records.filter(({ state }) => state === "failed" || state === "broken");
      return {
        plugins: allRows(parts),
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
    name: "plugins.catalog.browse",
    scope: "operator.read",
    params: browseParams,
    result: browsed,
    run: async (wanted) => {
      const { cursor = "0", pageSize } = wanted;
      const found = allRows(parts).filter((one) => isWanted(one, wanted));
      const from = Number(cursor);
      const isMore = from + pageSize < found.length;
      return {
        items: found.slice(from, from + pageSize).map(entryOf),
        ...(isMore && { nextCursor: String(from + pageSize) }),
      };
    },
  }),
  ...actMethods(parts),
];

/** The methods of one plugin, and the one that takes up plugins of the disk. */
const actMethods = (parts: Parts): readonly Method[] => [
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
    result: pluginAnswers.setEnabled,
    run: async ({ pluginId: id, enabled }) => {
      const { mode } = parts.live.started.gateway.reload;
      const restartRequired = mode === "off" || mode === "restart";
      const state = enabled ? ("enabled" as const) : ("disabled" as const);
      const shipped = bundledPlugin(id, parts);
      if (shipped) {
        const edits = bundledSwitch(id, enabled, parts.live);
        if (typeof edits === "string") throw new MethodError("INVALID_REQUEST", edits);
        await writeByClient(edits, parts);
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

type Row = Answer<z.output<typeof row>>;

/** The plugins that were found, and those that come with the gateway. */
const allRows = (parts: Parts): readonly Row[] => [
  ...parts.plugins.plugins.records.map((record) => rowOf(record, parts)),
  ...bundledPlugins(parts),
];

/** This gateway's plugins are its whole catalog: none is promoted. */
function isWanted(
  { id, name, description = "", origin, category: own }: Row,
  { query = "", intent = "all", category }: z.output<typeof browseParams>,
): boolean {
  if (intent !== "all" && (intent !== "bundled" || origin !== "bundled")) return false;
  if (category !== undefined && own !== category) return false;
  return `${id} ${name} ${description}`.toLowerCase().includes(query.trim().toLowerCase());
}

function entryOf({ id, name, packageName, description, version, category, installed, enabled, state }: Row) {
  const about = defined({ packageName, summary: description, latestVersion: version });
  const categories = category === undefined ? [] : [category];
  return {
    id: `local_${Buffer.from(id).toString("base64url")}`,
    catalog: { name, ...about, official: false, categories, publishedToClawHub: false },
    local: { present: true, installed, enabled, state, pluginId: id, action: "manage" as const },
  };
}

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
function inspectedBundled({ id, name, description, version, origin, installed, enabled, category }: BundledPlugin) {
  return {
    ok: true,
    plugin: { id, name, description, version, origin, installed, enabled },
    source: { kind: "bundled", spec: id },
    declared: { ...NOTHING_DECLARED, channels: category === "channel" ? [id] : [] },
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
