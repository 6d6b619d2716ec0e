import { homedir } from "node:os";
import type { RegistrationMode } from "../../plugins/api/plugin-api.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
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
  const problems = await loadPlugins(io, ({ manifest }) => manifest.cliCommands.includes(word));
  for (const { id, why } of problems ?? [])
    io.err(`The plugin ${id}, which has the command ${word}, is not loaded: ${why}.\n`);
  return problems !== undefined;
}

/** Loads the plugins that bring a provider of models, so that a command knows their models. They open no stores. */
export async function loadModelProviders(io: Io): Promise<void> {
  const problems = await loadPlugins(io, ({ manifest }) => manifest.providers.length > 0, "discovery");
  for (const { id, state, why } of problems ?? [])
    if (state === "failed") io.err(`The plugin ${id}, which brings models, is not loaded: ${why}.\n`);
}

type Wanted = (plugin: FoundPlugin) => boolean;
type Problem = Pick<PluginRecord, "id" | "state"> & { readonly why: string };

/** Those that were not loaded. Undefined when no plugin is wanted. */
async function loadPlugins(io: Io, wanted: Wanted, mode?: RegistrationMode): Promise<readonly Problem[] | undefined> {
  const paths = resolvePaths(io.env);
  const loaded = await readConfig(io, paths);
  const mine = loaded?.plugins.plugins.filter(wanted) ?? [];
  if (!loaded || mine.length === 0) return undefined;
  const live = new Live(paths, io.env["HOME"] ?? homedir(), loaded, io.contributions);
  const { records } = await loadForCommand(live, mine, mode);
  return records.flatMap(({ id, state, why = state }) => (state === "loaded" ? [] : [{ id, state, why }]));
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
