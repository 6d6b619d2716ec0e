import { activationOf } from "../../plugins/found/activation.ts";
import { pluginStore } from "../../plugins/install/store.ts";
import { webSearchCheck } from "../../tools/web/search/check.ts";
import { speechCheck } from "../../providers/speech/check.ts";
import { own } from "../../utils/own.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { StatePaths } from "../config/paths.ts";
import { packageRoot } from "../package-root.ts";
import { checkPlugins, type PluginCheckProblem } from "../plugins/check-plugins.ts";
import { findPlugins } from "../plugins/found.ts";
import type { LoadedPlugins } from "../plugins/loaded-plugins.ts";
import { loadedProblems, type PluginView } from "../plugins/loaded-problems.ts";
import { judgeHooks } from "../../plugins/internal-hooks/judge-hooks.ts";
import type { Live } from "../live.ts";
import { hookScene } from "../plugins/hooks/hook-scene.ts";
import type { Env } from "../../utils/env.ts";

/** Milliseconds to read the files of all plugins and to load those that are on. */
export const PLUGINS_MS = 60_000;

/** The checks of plugins, and of the features to which plugins may add. */
export function pluginChecks(paths: StatePaths, env: Env, plugins: LoadedPlugins): readonly Check[] {
  const { tools, plugins: settings, messages, models } = plugins.live.config;
  const hasKey = (provider: string) => own(models.providers, provider)?.apiKey !== undefined;
  const scene = { settings: tools.web.search, entries: settings.entries, env };
  const search = webSearchCheck(scene, () => plugins.webSearches());
  const speech = speechCheck({ config: messages.tts, env, hasKey });
  const hooks = hookFoldersCheck(plugins.live, env);
  return [pluginsCheck(paths, env, plugins), hooks, { ...search, timeoutMs: PLUGINS_MS }, speech];
}

/** Whether the plugins that the config turns on can be loaded, and are as they were installed. */
function pluginsCheck(paths: StatePaths, env: Env, plugins: LoadedPlugins): Check {
  return {
    id: "plugins",
    title: "Plugins",
    timeoutMs: PLUGINS_MS,
    run: async () => {
      const { config } = plugins.live;
      const found = await findPlugins(paths, env);
      const stored = await checkPlugins(found, {
        config: config.plugins,
        store: pluginStore(paths, packageRoot, env),
      });
      const problems = withLoaded(
        stored,
        loadedProblems(ofOthers(await plugins.view(), config.plugins.slots.contextEngine)),
      );
      const on = found.plugins.filter((plugin) => activationOf(plugin, config.plugins).isOn).length;
      return problems.length > 0
        ? problems.map(resultOf)
        : [{ status: "ok", message: `${found.plugins.length} installed, ${on} enabled.` }];
    },
  };
}

/** The view without the selected engine and the calls of its plugin, which have a check of their own. */
const ofOthers = ({ records, faults }: PluginView, engine: string): Pick<PluginView, "records" | "faults"> => ({
  records: records.map((record) =>
    record.added?.["engines"]?.includes(engine) ? { ...record, cost: undefined } : record,
  ),
  faults: faults.filter(({ kind }) => kind !== "engine"),
});

/**
 * Both lists in one, sorted by id. A plugin that cannot be loaded is reported once: the problem in its files says more.
 */
export function withLoaded(
  stored: readonly PluginCheckProblem[],
  loaded: readonly PluginCheckProblem[],
): readonly PluginCheckProblem[] {
  const failed = new Set(stored.flatMap(({ severity, id }) => (severity === "fail" ? [id] : [])));
  const more = loaded.filter(({ severity, id }) => severity !== "fail" || !failed.has(id));
  return [...stored, ...more].toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

const resultOf = ({ severity, id, message, fix }: PluginCheckProblem): CheckResult => ({
  status: severity,
  message: `${id}: ${message}`,
  fix,
});

/** Whether the hooks that the config wants can be called. */
function hookFoldersCheck(live: Live, env: Env): Check {
  return {
    id: "hooks.internal",
    title: "Hook folders",
    run: async () => {
      const { config, paths, agents, loaded } = live;
      const scene = hookScene({ config, paths, agents, plugins: loaded.plugins.plugins, env });
      const { hooks, leftOut } = await judgeHooks(scene);
      const kept = hooks.flatMap(({ name, state, why = "it cannot be used", fix }): CheckResult[] =>
        state === "unfit" || state === "unapproved"
          ? [
              {
                status: "warn",
                message: `${name} is not called: ${why}.`,
                fix: fix ?? `Run: openclaw hooks info ${name}`,
              },
            ]
          : [],
      );
      const unused = leftOut.map(({ folder, why }): CheckResult => ({
        status: "warn",
        message: `${folder} is not used as a hook: ${why}.`,
        fix: "Correct it, or remove the folder.",
      }));
      const on = hooks.filter(({ state }) => state === "on").length;
      const all: CheckResult = { status: "ok", message: `${hooks.length} found, ${on} called.` };
      return kept.length + unused.length === 0 ? [all] : [...kept, ...unused];
    },
  };
}
