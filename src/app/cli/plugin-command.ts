import { homedir } from "node:os";
import type { RegistrationMode } from "../../plugins/plugin-api.ts";
import type { PluginRecord } from "../../plugins/host/record.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { Io } from "./io.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { resolvePaths } from "../config/paths.ts";
import { Live } from "../live.ts";
import { loadForCommand } from "../plugins/load-for-command.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";

/**
 * Loads the plugins that have a command of the command line, into `io.contributions`. False when there are none. Their services
 * are not started.
 */
export async function loadPluginCommand(io: Io, word: string): Promise<boolean> {
  const named = await loadPlugins(io, ({ manifest }) => manifest.cliCommands.includes(word));
  const problems = named?.problems ?? (await loadUnnamed(io, word));
  for (const { id, why } of problems ?? [])
    io.err(`The plugin ${id}, which has the command ${word}, is not loaded: ${why}.\n`);
  return problems !== undefined;
}

/** For a command that no manifest names: what the plugins register says which of them has it. */
async function loadUnnamed(io: Io, word: string): Promise<readonly Problem[] | undefined> {
  const all = await loadPlugins(io, () => true, "discovery");
  const command = io.contributions.cliCommands.find(({ name, aliases = [] }) => [name, ...aliases].includes(word));
  const owner = command && all?.records.find(({ added }) => added?.["cliCommands"]?.includes(command.name))?.id;
  await all?.close();
  if (owner === undefined) return undefined;
  return (await loadPlugins(io, ({ manifest }) => manifest.id === owner))?.problems;
}

/** Loads the plugins that bring a provider of models, so that a command knows their models. They open no stores. */
export async function loadModelProviders(io: Io): Promise<void> {
  const loaded = await loadPlugins(io, ({ manifest }) => manifest.providers.length > 0, "discovery");
  for (const { id, state, why } of loaded?.problems ?? [])
    if (state === "failed") io.err(`The plugin ${id}, which brings models, is not loaded: ${why}.\n`);
}

type Wanted = (plugin: FoundPlugin) => boolean;
type Problem = Pick<PluginRecord, "id" | "state"> & { readonly why: string };

interface Loaded {
  readonly records: readonly PluginRecord[];
  /** The plugins that were not loaded. */
  readonly problems: readonly Problem[];
  /** Takes out what the plugins added. */
  close(): Promise<void>;
}

/** Undefined when no plugin is wanted. */
async function loadPlugins(io: Io, wanted: Wanted, mode?: RegistrationMode): Promise<Loaded | undefined> {
  const paths = resolvePaths(io.env);
  const loaded = await readConfig(io, paths);
  const mine = loaded?.plugins.plugins.filter(wanted) ?? [];
  if (!loaded || mine.length === 0) return undefined;
  const live = new Live(paths, io.env["HOME"] ?? homedir(), loaded, io.contributions);
  const plugins = await loadForCommand(live, mine, mode);
  const problems = plugins.records.flatMap(({ id, state, why = state }) =>
    state === "loaded" ? [] : [{ id, state, why }],
  );
  return { records: plugins.records, problems, close: () => plugins.close() };
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
