import type { RegistrationMode } from "../../plugins/plugin-api.ts";
import { Plugins } from "../../plugins/host/plugins.ts";
import { resolveSdk } from "../../plugins/load/sdk-resolution.ts";
import { TrialGuard } from "../../plugins/trial/guard.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Live } from "../live.ts";
import { openLog } from "../log/log.ts";
import { PluginVariables } from "./plugin-variables.ts";
import { commandPorts } from "./ports.ts";
import { sdkUrls } from "./sdk-urls.ts";
import { tryPlugins } from "./trial-program.ts";

/** Variable by which plugins find the folder of their stores. */
const STATE_DIR = "OPENCLAW_STATE_DIR";

/** Plugins in the process of a command. */
export interface CommandPlugins {
  readonly records: Plugins["records"];
  close(): Promise<void>;
}

/** Loads plugins into `live.contributions` as the gateway does, without starting their services. Never rejects. */
export async function loadForCommand(
  live: Live,
  found: readonly FoundPlugin[],
  mode: RegistrationMode = "full",
): Promise<CommandPlugins> {
  const before = process.env[STATE_DIR];
  process.env[STATE_DIR] = live.paths.stateDir;
  const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const variables = new PluginVariables(log);
  variables.follow(live.loaded);
  const endResolution = resolveSdk(sdkUrls());
  const guard = new TrialGuard({
    stateDir: live.paths.stateDir,
    log,
    isAlone: false,
    tryOut: (untried) => tryPlugins(untried, live),
  });
  const plugins = new Plugins(live.contributions, commandPorts(live, log), { guard, mode, sdk: sdkUrls() });
  await plugins.apply({ plugins: found, broken: [] });
  return {
    records: plugins.records,
    async close() {
      await plugins.close();
      variables.close();
      endResolution();
      if (before === undefined) delete process.env[STATE_DIR];
      else process.env[STATE_DIR] = before;
    },
  };
}
