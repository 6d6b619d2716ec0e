import { join } from "node:path";
import { pluginsConfig } from "../../plugins/config.ts";
import type { PluginPorts } from "../../plugins/ports.ts";
import { systemClock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";

interface TestScene {
  readonly id: string;
  /** Holds the state directory and the workspace. */
  readonly folder: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** What the gateway lends to plugins, for one plugin in a test. */
export function testPorts({ id, folder, config }: TestScene): PluginPorts {
  const settings = { enabled: true, config, hooks: { allowConversationAccess: true } };
  const plugins = pluginsConfig.parse({ entries: { [id]: settings } });
  return {
    stateDir: join(folder, "state"),
    workspace: () => folder,
    shownConfig: () => ({ plugins: structuredClone(plugins) }),
    pluginsConfig: () => plugins,
    settingsOf: (plugin) => (plugin === id ? settings : {}),
    complete: async () => ({ text: "A completion.", provider: "test", model: "test" }),
    enqueueSystemEvent: async () => undefined,
    requestHeartbeat: () => undefined,
    sessions: {
      storePath: () => join(folder, "sessions.json"),
      load: () => ({}),
      filePath: (sessionId) => join(folder, `${sessionId}.jsonl`),
    },
    clock: systemClock,
    log: silent,
  };
}

const nothing = () => undefined;
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => silent };
