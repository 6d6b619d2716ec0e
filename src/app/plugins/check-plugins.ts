import { BUNDLED_IDS } from "../contributions/extensions.ts";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { PluginsConfig } from "../../plugins/config.ts";
import { crashText } from "../../plugins/trial/crashes.ts";
import { activationOf } from "../../plugins/found/activation.ts";
import { hostLinkOf } from "../../plugins/install/host-link.ts";
import { FOLDER_LIMITS } from "../../plugins/install/paths.ts";
import type { PluginStore } from "../../plugins/install/store.ts";
import { hashTree, readTree } from "../../plugins/install/tree.ts";
import { PROVIDERS } from "../../tools/web/search/table.ts";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { NO_COUNTERPART_HERE, standsFor } from "../config/keys/field-plugins.ts";
import type { FoundPlugins } from "./found.ts";

/** A problem of one plugin. `fail`: the config wants the plugin, and it cannot run. */
export interface PluginCheckProblem {
  readonly severity: "fail" | "warn";
  readonly id: string;
  /** The problem as a sentence. */
  readonly message: string;
  readonly fix: string;
}

interface Setting {
  readonly config: PluginsConfig;
  readonly store: PluginStore;
}

/** Looks at all plugins, their records and the config, without running a plugin's code. Sorted by id. */
export async function checkPlugins(found: FoundPlugins, setting: Setting): Promise<readonly PluginCheckProblem[]> {
  const each = await Promise.all(found.plugins.map((plugin) => checkPlugin(plugin, found, setting)));
  const all = [
    ...brokenOnes(found, setting),
    ...missingOnes(found, setting),
    ...leftOutOnes(found, setting),
    ...crashingOnes(found),
    ...each.flat(),
  ];
  return all.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

function brokenOnes({ broken }: FoundPlugins, { config }: Setting): readonly PluginCheckProblem[] {
  return broken.map(({ id, root, why }) => ({
    severity: isWanted(config, id) ? "fail" : "warn",
    id,
    message: `${root} cannot be used: ${why}.`,
    fix: `Correct it, or run: openclaw plugins uninstall ${id}`,
  }));
}

/** Plugins that a record or the config names, and that are nowhere. */
function missingOnes(found: FoundPlugins, { config }: Setting): readonly PluginCheckProblem[] {
  const known = new Set([...found.plugins.map(({ manifest }) => manifest.id), ...found.broken.map(({ id }) => id)]);
  const records = Object.entries(found.records).filter(([id]) => !known.has(id));
  // Names in slots are not checked: only loaded plugins show whether they exist, since an engine may have any id.
  const named = Object.keys(config.entries).filter(
    (id) => own(config.entries, id)?.enabled === true && !BUILT_IN.has(id) && !known.has(id) && !own(found.records, id),
  );
  return [
    ...records.map(([id, { spec }]) => ({
      severity: isWanted(config, id) ? ("fail" as const) : ("warn" as const),
      id,
      message: "It has an install record, and its folder is missing.",
      fix: `Run \`openclaw plugins update ${id}\` to fetch it from ${spec ?? "its source"} again, or uninstall it.`,
    })),
    ...named.flatMap((id) => missingOne(id)),
  ];
}

/** A plugin that the config enables. One that comes with OpenClaw can only be installed where somebody publishes it. */
function missingOne(id: string): readonly PluginCheckProblem[] {
  const stands = standsFor(id);
  if (stands === "built in") return [];
  const disable = `run: openclaw plugins disable ${id}`;
  if (stands === "no counterpart")
    return [{ severity: "warn", id, message: `It ${NO_COUNTERPART_HERE}.`, fix: `To be rid of this line, ${disable}` }];
  const message = "The config enables it, and it is not installed.";
  return [{ severity: "fail", id, message, fix: `Install it, or ${disable}` }];
}

/** Plugins whose code would stop the gateway. */
function leftOutOnes({ plugins, leftOut }: FoundPlugins, { config }: Setting): readonly PluginCheckProblem[] {
  return plugins.flatMap((plugin) => {
    const { id } = plugin.manifest;
    const problem = leftOut.get(id);
    if (!problem) return [];
    const severity = activationOf(plugin, config).isOn ? ("fail" as const) : ("warn" as const);
    return [{ severity, id, message: `It is left out (${problem.code}): ${problem.why}.`, fix: problem.fix }];
  });
}

/** Plugins that have ended the gateway, and are still loaded. */
function crashingOnes({ plugins, crashes, leftOut }: FoundPlugins): readonly PluginCheckProblem[] {
  const installed = plugins.map(({ manifest }) => manifest.id).filter((id) => !leftOut.has(id));
  return installed.flatMap((id) => {
    const text = crashText(id, crashes);
    if (text === undefined) return [];
    const fix = `Run: openclaw plugins update ${id}, or: openclaw plugins disable ${id}`;
    return [{ severity: "warn" as const, id, message: `It ${text}.`, fix }];
  });
}

/**
 * Ids that need no plugin here: the built-in engine, a slot without a plugin, the bundled extensions, and providers of
 * `web_search`.
 */
const BUILT_IN = new Set(["legacy", "none", ...BUNDLED_IDS, ...PROVIDERS.map(({ plugin }) => plugin)]);

const isWanted = ({ entries, slots }: PluginsConfig, id: string): boolean =>
  !BUILT_IN.has(id) && (own(entries, id)?.enabled === true || slots.contextEngine === id || slots.memory === id);

async function checkPlugin(
  plugin: FoundPlugin,
  found: FoundPlugins,
  setting: Setting,
): Promise<readonly PluginCheckProblem[]> {
  const { id } = plugin.manifest;
  const activation = activationOf(plugin, setting.config);
  const refused: readonly PluginCheckProblem[] =
    activation.isOn || activation.isProblem !== true
      ? []
      : [
          {
            severity: "fail",
            id,
            message: `It is refused: ${activation.reason}.`,
            fix: `Run: openclaw plugins update ${id}`,
          },
        ];
  return [...refused, ...dependencyProblems(plugin, found), ...(await recordProblems(plugin, found, setting))];
}

/** Dependencies that Node would not find. Built code often contains them, so their absence may do no harm. */
function dependencyProblems(
  { manifest: { id }, package: own_, root }: FoundPlugin,
  { records }: FoundPlugins,
): readonly PluginCheckProblem[] {
  const from = createRequire(join(root, own_.entries[0] ?? "index.js"));
  const missing = own_.dependencies.filter((name) => name !== "openclaw" && !isResolvable(from, name));
  if (missing.length === 0) return [];
  return [
    {
      severity: "warn",
      id,
      message: `Its folder lacks dependencies of its package.json: ${missing.join(", ")}. It may contain them in its built code.`,
      fix: `If it does not load: ${fixFor(own(records, id))}`,
    },
  ];
}

/** The fix for missing dependencies. An archive that npm has not filled is installed again with npm. */
const fixFor = (record: InstallRecord | undefined): string =>
  record?.source === "archive" && record.spec !== undefined
    ? `openclaw plugins install npm-pack:${record.spec.replace(/^npm-pack:/, "")} --force`
    : "run `npm install --omit=dev` in its source and install it again, or install it from npm.";

/** Whether Node finds a folder of the package, whatever the package exports. */
const isResolvable = (from: NodeJS.Require, name: string): boolean =>
  (from.resolve.paths(name) ?? []).some((folder) => existsSync(join(folder, name, "package.json")));

async function recordProblems(
  { manifest: { id }, root, origin }: FoundPlugin,
  { records }: FoundPlugins,
  { store }: Setting,
): Promise<readonly PluginCheckProblem[]> {
  if (origin !== "global" || dirname(root) !== store.extensions) return [];
  const record = own(records, id);
  const warn = (message: string, fix: string): PluginCheckProblem => ({ severity: "warn", id, message, fix });
  if (!record)
    return [
      warn(
        "Its folder has no install record: somebody put it there by hand.",
        "Install it from its source with --force.",
      ),
    ];
  const problems: PluginCheckProblem[] = [];
  if ((await hostLinkOf(root)) !== store.packageRoot)
    problems.push(
      warn("Its node_modules/openclaw does not lead to this gateway.", `Run: openclaw plugins update ${id}`),
    );
  if (record.source === "npm" && record.integrity === undefined)
    problems.push(
      warn("Its record has no integrity hash.", `Run: openclaw plugins install npm:${record.spec} --force`),
    );
  const changed = record.files === undefined ? undefined : await changeOf(root, record.files);
  if (changed !== undefined)
    problems.push(warn(changed, `Find out who changed it, or run: openclaw plugins install ${record.spec} --force`));
  return problems;
}

async function changeOf(root: string, before: string): Promise<string | undefined> {
  try {
    const now = await hashTree(root, await readTree(root, FOLDER_LIMITS));
    return now === before ? undefined : "Its files were changed after the installation.";
  } catch (error) {
    return `Its files cannot be checked: ${errorText(error)}`;
  }
}
