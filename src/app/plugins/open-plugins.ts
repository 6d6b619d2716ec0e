import { resolveSdk } from "../../plugins/load/sdk-resolution.ts";
import type { StrayErrors } from "../../plugins/host/stray-errors.ts";
import { Plugins } from "../../plugins/host/plugins.ts";
import { TrialGuard } from "../../plugins/trial/guard.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import type { Log } from "../../types/log.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Live } from "../live.ts";
import { packageRoot } from "../package-root.ts";
import { PluginVariables } from "./plugin-variables.ts";
import { pluginPorts, type PluginCore } from "./ports.ts";
import { sdkUrls } from "./sdk-urls.ts";
import { tryPlugins } from "./trial-program.ts";

interface Surroundings {
  readonly live: Live;
  readonly core: PluginCore;
  readonly log: Log;
  requestHeartbeat(reason: string): void;
  /** Called before the code of any plugin runs. */
  following?(errors: StrayErrors): void;
}

/** The plugins of a process. `close` unloads all of them. */
export interface OpenPlugins {
  readonly plugins: Plugins;
  /**
   * Loads the plugins of `next`, else of the current config, and unloads the rest. `next` comes into force in one step,
   * once everything that it names is there. Rejects, and keeps the current config, when a contributor does not accept
   * `next`.
   */
  follow(next?: LoadedConfig): Promise<void>;
  /** Ends the services of plugins; their registrations stay, since runs may still be ending. */
  stopping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Loads the plugins that the config turns on, after a trial where their code is new. The caller holds the lock. Never
 * rejects: a plugin that fails is reported and left out.
 */
export async function openPlugins({ live, following, ...lent }: Surroundings): Promise<OpenPlugins> {
  const guard = new TrialGuard({
    stateDir: live.paths.stateDir,
    log: lent.log,
    isAlone: true,
    tryOut: (untried) => tryPlugins(untried, live),
  });
  const plugins = new Plugins(live.contributions, pluginPorts({ live, ...lent }), {
    guard,
    sdk: sdkUrls(),
    ownRoot: packageRoot,
  });
  following?.(plugins.strayErrors);
  const variables = new PluginVariables(lent.log);
  const ends: (() => void)[] = [];
  const queue = new KeyedQueue();
  // One at a time: a change of the config may come while a plugin is tried again.
  const follow = (next?: LoadedConfig) => queue.run("follow", () => followNow(next));
  const followNow = async (next?: LoadedConfig) => {
    const change = next && live.prepare(next);
    try {
      const { coming } = live;
      // Without a plugin, nothing of this process is looked at.
      if (coming.plugins.plugins.length > 0 && ends.length === 0)
        ends.push(resolveSdk(sdkUrls()), await plugins.observe());
      variables.follow(coming, live.loaded);
      await plugins.apply(coming.plugins, change?.take);
      variables.follow(coming);
    } finally {
      change?.end();
    }
  };
  await follow();
  return {
    plugins,
    follow,
    stopping: () => plugins.stop(),
    async close() {
      await plugins.close();
      variables.close();
      for (const end of ends) end();
    },
  };
}
