import type { PluginEntry } from "../../../../plugins/config.ts";
import { contributesOf } from "../../../../plugins/install/facts.ts";
import { missingSdk } from "../../../../plugins/load/missing-sdk.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { own } from "../../../../utils/own.ts";
import { sdkUrls } from "../../../plugins/sdk-urls.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs } from "../../table.ts";
import { readPluginState, requirePlugin, pluginRows, type PluginCommandState } from "./plugin-state.ts";

export interface InspectFlags {
  readonly json?: boolean;
  readonly all?: boolean;
}

/** Shows all that is known of a plugin without running it. Throws `NOT_FOUND`, and `USAGE` without an id. */
export async function pluginsInspect(io: Io, id: string | undefined, flags: InspectFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const reports = await Promise.all(
    chosen(plugins, id, flags).map(async (plugin) => ({
      ...reportOf(plugins, plugin),
      missing: await missingSdk(plugin.root, sdkUrls()),
    })),
  );
  if (flags.json === true) writeJson(io, flags.all === true ? { plugins: reports } : reports[0]);
  else io.out(reports.map((report) => textOf(io, report)).join("\n"));
  return 0;
}

function chosen(plugins: PluginCommandState, id: string | undefined, { all }: InspectFlags): readonly FoundPlugin[] {
  if (all === true) return plugins.found.plugins;
  if (id !== undefined) return [requirePlugin(plugins, id)];
  throw new OpenClawError("USAGE", { message: "Which plugin is missing.", fix: "Give its id, or --all." });
}

type Report = ReturnType<typeof reportOf> & { readonly missing: readonly string[] };

function reportOf(plugins: PluginCommandState, plugin: FoundPlugin) {
  const { manifest, package: pack } = plugin;
  const entry = own(plugins.state.config.plugins.entries, manifest.id);
  const row = pluginRows(plugins).find(({ id, root }) => id === manifest.id && root === plugin.root);
  return {
    ...row,
    id: manifest.id,
    description: manifest.description ?? pack.description,
    license: pack.license,
    author: pack.author,
    entry: pack.entries[0],
    pluginApi: pack.pluginApi,
    contributes: contributesOf(plugin),
    dependencies: pack.dependencies,
    installScripts: pack.installScripts,
    grants: grantsOf(entry),
    hasConfig: entry?.config !== undefined,
    variables: Object.keys(entry?.env ?? {}),
    record: own(plugins.found.records, manifest.id),
  };
}

const grantsOf = (entry: PluginEntry | undefined) => ({
  conversationAccess: entry?.hooks.allowConversationAccess ?? false,
  promptInjection: entry !== undefined && entry.hooks.allowConversationAccess && entry.hooks.allowPromptInjection,
  modelOverride: entry?.llm.allowModelOverride ?? false,
  subagentModelOverride: entry?.subagent.allowModelOverride ?? false,
});

function textOf(io: Io, report: Report): string {
  const { contributes, grants, record } = report;
  const granted = Object.entries(grants).flatMap(([name, isGranted]) => (isGranted ? [name] : []));
  const listed = (names: readonly string[]) => (names.length === 0 ? undefined : names.join(", "));
  return pairs(io, [
    ["id", report.id],
    ["name", report.name],
    ["about", report.description],
    ["version", report.version],
    ["state", report.reason === undefined ? report.state : `${report.state}: ${report.reason}`],
    ["fix", report.fix],
    ["origin", report.origin],
    ["folder", report.root],
    ["entry", report.entry],
    ["source", report.source],
    ["integrity", record?.integrity],
    ["commit", record?.resolvedCommit],
    ["installed", record?.installedAt],
    ["author", report.author],
    ["license", report.license],
    ["plugin API", report.pluginApi],
    ...Object.entries(contributes).map(([name, names]) => [name, listed(names)] as const),
    ["missing in the SDK", listed(report.missing)],
    ["dependencies", listed(report.dependencies)],
    ["install scripts", listed(report.installScripts)],
    ["granted", listed(granted)],
    ["variables", listed(report.variables)],
    ["settings", report.hasConfig ? `plugins.entries.${report.id}.config` : undefined],
  ]);
}
