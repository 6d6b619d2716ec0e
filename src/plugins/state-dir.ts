import { join } from "node:path";

/** The folder for the data of a plugin, which its services get as `pluginStateDir`. It need not exist. */
export const pluginStateDir = (stateDir: string, plugin: string): string => join(stateDir, "plugins", plugin);
