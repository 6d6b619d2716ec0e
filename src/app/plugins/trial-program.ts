import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PluginsConfig } from "../../plugins/config.ts";
import { runTrials, type TrialProgram, type TrialResult } from "../../plugins/trial/run-trials.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import type { Live } from "../compose/live.ts";
import { packageRoot } from "../package-root.ts";
import { settingsFor, shownForPlugin } from "./shown-for-plugin.ts";

/** What the process that tries plugins gets. Its secrets are those that the plugins get anyway. */
export interface TrialJob {
  readonly plugins: readonly FoundPlugin[];
  readonly config: PluginsConfig;
  /** The config as each plugin sees it, by its id. */
  readonly shown: Readonly<Record<string, unknown>>;
  readonly stateDir: string;
  readonly workspace: string;
  /** Milliseconds after which the process ends itself. */
  readonly lifeMs: number;
}

interface Tried {
  readonly id: string;
  readonly found: FoundPlugin;
}

/** Runs plugins in a process of their own, as the gateway would. Rejects when there can be no such process. */
export function tryPlugins(plugins: readonly FoundPlugin[], live: Live): Promise<ReadonlyMap<string, TrialResult>> {
  return runTrials(
    plugins.map((found) => ({ id: found.manifest.id, found })),
    programOf(live),
  );
}

const programOf = (live: Live): TrialProgram<Tried> => ({
  command: commandLine(),
  env: process.env,
  job: (given) =>
    jobOf(
      given.map(({ found }) => found),
      live,
    ),
});

function jobOf(plugins: readonly FoundPlugin[], { config, paths, defaultAgent }: Live): Omit<TrialJob, "lifeMs"> {
  const ids = plugins.map(({ manifest }) => manifest.id);
  const entries = ids.flatMap((id) => {
    const entry = own(config.plugins.entries, id);
    return entry ? [[id, { ...entry, ...settingsFor(config, id) }] as const] : [];
  });
  const shown = plugins.map(({ manifest }) => [manifest.id, shownForPlugin(config, manifest)]);
  return {
    plugins,
    config: { ...config.plugins, entries: Object.fromEntries(entries) },
    shown: Object.fromEntries(shown),
    stateDir: paths.stateDir,
    workspace: defaultAgent.workspace,
  };
}

/** Of the bundle, or of the sources where those run. */
function commandLine(): readonly [string, ...string[]] {
  const dist = join(packageRoot, "dist");
  if (fileURLToPath(import.meta.url).startsWith(dist)) return [process.execPath, join(dist, "plugin-trial.js")];
  const source = join(packageRoot, "src", "app", "plugins", "trial-process.ts");
  return [process.execPath, "--conditions=source", source];
}
