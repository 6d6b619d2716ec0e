import { loadSource, type LoadedConfig, type LoadOptions } from "../../src/app/config/load.ts";
import { sourceOf } from "../../src/app/config/source.ts";

/** Resolves and checks the text of a config, as if it stood in the file. Throws as `loadConfig` does. */
export const loadConfigText = async (
  text: string,
  options: LoadOptions,
): Promise<Pick<LoadedConfig, "config" | "warnings" | "variables" | "stops" | "plugins">> =>
  loadSource(await sourceOf(text, options), options);
