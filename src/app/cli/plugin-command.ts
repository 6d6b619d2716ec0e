import { homedir } from "node:os";
import { OpenClawError } from "../../types/errors.ts";
import type { Io } from "./io.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { resolvePaths } from "../config/paths.ts";
import { Live } from "../compose/live.ts";
import { loadForCommand } from "../plugins/load-for-command.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";

/**
 * Loads the plugins whose manifests name a command of the command line, into `io.contributions`. False when there are none.
 * Their services are not started.
 */
export async function loadPluginCommand(io: Io, word: string): Promise<boolean> {
  const paths = resolvePaths(io.env);
  const loaded = await readConfig(io, paths);
  if (!loaded) return false;
  const mine = loaded.plugins.plugins.filter(({ manifest }) => manifest.cliCommands.includes(word));
  if (mine.length === 0) return false;
  const live = new Live(paths, io.env["HOME"] ?? homedir(), loaded, io.contributions);
  const { records } = await loadForCommand(live, mine);
  for (const { id, state, why } of records)
    if (state !== "loaded")
      io.err(`The plugin ${id}, which has the command ${word}, is not loaded: ${why ?? state}.\n`);
  return true;
}

/** An invalid config loads no plugin; whoever needs the config says what is wrong with it. */
async function readConfig(io: Io, paths: ReturnType<typeof resolvePaths>): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfig(await loadOptionsFor(io.contributions, paths, io.env));
  } catch (error) {
    if (error instanceof OpenClawError) return undefined;
    throw error;
  }
}
