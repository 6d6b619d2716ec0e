import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { channelChecks } from "../../channels/checks.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { keyChecks } from "../../providers/auth/checks.ts";
import { Credentials } from "../../providers/auth/credentials.ts";
import { checks as sessionChecks } from "../../sessions/checks.ts";
import { checks as storeChecks } from "../../store/checks.ts";
import type { Check } from "../../types/check.ts";
import type { CheckContribution, CheckScene } from "../../types/contribution.ts";
import { accountsIn } from "../accounts/channel-accounts.ts";
import { loadConfig } from "../config/load.ts";
import { cooldownsPath, journalPath, resolvePaths } from "../config/paths.ts";
import { appChecks } from "./app-checks.ts";
import { foreignCheck } from "./machine-checks.ts";
import { selectedEngineChecks } from "./engine-check.ts";
import { modelChecks, ownDirsOf } from "./model-check.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import { LoadedPlugins, type AskPlugins } from "../plugins/loaded-plugins.ts";
import { pluginChecks } from "./plugins-check.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { failingNow, failingText, LOOKED_AT } from "../runs/failing.ts";

interface Scene {
  readonly contributions: Contributions;
  readonly env: NodeJS.ProcessEnv;
  /** The plugins of the running gateway; undefined when none runs. */
  readonly ask: AskPlugins;
}

/**
 * The checks of every module. With an invalid config, checks that need one are left out; the config's own check gives
 * the reason. The caller closes `plugins` when the checks have run.
 */
export async function collectChecks({ contributions, env, ask }: Scene): Promise<{
  readonly checks: readonly Check[];
  readonly plugins: LoadedPlugins | undefined;
}> {
  const paths = resolvePaths(env);
  const load = await loadOptionsFor(contributions, paths, env);
  // The check of the config loads the file again, and reports its problems.
  const loaded = await loadConfig(load).catch(() => undefined);
  const config = loaded?.config;
  const home = env["HOME"] ?? homedir();
  const plugins = loaded && new LoadedPlugins({ paths, home, loaded, contributions, ask });
  const checks = [
    ...appChecks({ paths, load, config, contributions }),
    ...(loaded ? [foreignCheck({ config: loaded.config, loaded, paths })] : []),
    ...storeChecks({ stateDir: paths.stateDir, journal: journalPath(paths), sessions: paths.sessionsDir }),
    runsCheck(journalPath(paths)),
    ...sessionChecks({ dir: paths.sessionsDir, journal: journalPath(paths) }),
    ...(config
      ? keyChecks({
          dir: paths.credentials,
          ownDirs: ownDirsOf(config, paths, home),
          auth: config.auth,
          cooldowns: cooldownsPath(paths),
        })
      : []),
    ...(config && plugins
      ? [
          ...modelChecks(config, {
            env,
            credentials: new Credentials(paths.credentials),
            stateDir: paths.stateDir,
            contributed: () => plugins.modelProviders(),
          }),
          ...pluginChecks(paths, env, plugins),
          ...selectedEngineChecks(plugins, journalPath(paths)),
          ...channelChecks(await accountsIn({ config, contributions })),
        ]
      : []),
    ...contributions.checks.flatMap((contributed) => checksOf(contributed, { stateDir: paths.stateDir, config })),
  ];
  return { checks, plugins };
}

/** The checks of a contributor; a contributor that cannot make its checks is reported by a check that fails. */
function checksOf({ id, checks }: CheckContribution, scene: CheckScene): readonly Check[] {
  try {
    return checks(scene);
  } catch (error) {
    return [{ id, title: id, run: () => Promise.reject(error) }];
  }
}

/** Whether the latest runs came to an answer. */
const runsCheck = (path: string): Check => ({
  id: "app.runs",
  title: "Latest runs",
  run: async () => {
    // A check does not create a journal.
    if (!existsSync(path)) return [{ status: "ok", message: "None yet." }];
    const journal = await openJournalToRead(path);
    try {
      const failing = failingNow(await journal.runs.recent(LOOKED_AT));
      if (!failing) return [{ status: "ok", message: "The latest one did not fail." }];
      const fix = "See openclaw runs list --failed, and ask the models with openclaw models status --probe.";
      return [{ status: "warn", message: `${failingText(failing)}.`, fix }];
    } finally {
      await journal.close();
    }
  },
});
