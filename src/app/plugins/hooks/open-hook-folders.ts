import { join } from "node:path";
import { hasConversations } from "../../../plugins/found/grants.ts";
import { HookFolders } from "../../../plugins/internal-hooks/hook-folders.ts";
import { resolveSdk } from "../../../plugins/load/sdk-resolution.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { keyNames } from "../../../sessions/shown/wire-keys.ts";
import { systemClock } from "../../../types/clock.ts";
import { hookFacts } from "../../../types/hook/hook-table.ts";
import { sessionKey } from "../../../types/ids.ts";
import type { Log } from "../../../types/log.ts";
import { own } from "../../../utils/own.ts";
import { revealSecrets } from "../../../utils/secrets/reveal.ts";
import type { Core } from "../../compose/core.ts";
import type { Live } from "../../live.ts";
import { LentVariables } from "../plugin-variables.ts";
import { sdkUrls } from "../sdk-urls.ts";
import { hookScene } from "./hook-scene.ts";
import { sayByHook } from "../say-by-hook.ts";
import { isFields } from "../../../utils/fields.ts";
import type { Config } from "../../config/schema/schema.ts";
import { shownConfig } from "../../config/shown.ts";

/** The hook folders of a gateway. */
export interface OpenHookFolders {
  readonly folders: HookFolders;
  /** Reads the folders again, and loads and unloads hooks by the current config. Never rejects. */
  follow(): Promise<void>;
  close(): void;
}

interface Surroundings {
  readonly live: Live;
  readonly core: Pick<Core, "dispatch" | "sessions" | "ports">;
  readonly log: Log;
}

/** Opens the hook folders. No hook is called before `follow`. */
export function openHookFolders({ live, core, log }: Surroundings): OpenHookFolders {
  const variables = new LentVariables("hook", log);
  const entryOf = (key: string) => own(live.config.hooks.internal.entries, key);
  const ends: (() => void)[] = [];
  const folders = new HookFolders({
    contributions: live.contributions,
    clock: systemClock,
    log,
    copies: join(live.paths.stateSub, "hooks"),
    scene: () =>
      hookScene({
        config: live.config,
        paths: live.paths,
        agents: live.agents,
        plugins: live.loaded.plugins.plugins,
        env: process.env,
      }),
    settingsOf: (key) => revealSecrets(entryOf(key)),
    cfg: (key) => shownForHook(live.config, key),
    mayListen(plugin, hook) {
      const { readsConversations, changesPrompts } = hookFacts(hook);
      const { plugins } = live.config;
      const engines = live.contributions.namesOf(plugin)["engines"] ?? [];
      if (readsConversations === true && !hasConversations({ id: plugin, engines }, plugins)) return false;
      return changesPrompts !== true || own(plugins.entries, plugin)?.hooks.allowPromptInjection !== false;
    },
    keys: keyNames(() => live.defaultAgent.id),
    agentOf: (key) => agentOf(sessionKey(key), live.defaultAgent.id),
    lend: (keys) =>
      variables.lend(keys.map((id) => ({ id, key: `hooks.internal.entries.${id}.env`, env: entryOf(id)?.env ?? {} }))),
    say: sayByHook(live, core),
  });
  return {
    folders,
    async follow() {
      await folders.apply();
      // Without a hook, nothing of this process is changed.
      if (folders.view.hooks.some(({ state }) => state === "on") && ends.length === 0) ends.push(resolveSdk(sdkUrls()));
    },
    close() {
      folders.close();
      for (const end of ends) end();
    },
  };
}

/** The config with the hook's own settings as they are, and all other secrets masked. */
function shownForHook(config: Config, key: string): unknown {
  const shown = shownConfig(config);
  if (!isFields(shown)) return shown;
  const { hooks, ...rest } = shown;
  const internal = isFields(hooks) ? hooks["internal"] : undefined;
  const entries = isFields(internal) ? internal["entries"] : undefined;
  const mine = own(config.hooks.internal.entries, key);
  return {
    ...rest,
    hooks: {
      ...(isFields(hooks) && hooks),
      internal: {
        ...(isFields(internal) && internal),
        entries: { ...(isFields(entries) && entries), ...(mine && { [key]: revealSecrets(mine) }) },
      },
    },
  };
}
