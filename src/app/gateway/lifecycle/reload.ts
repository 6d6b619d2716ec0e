import { seedWorkspace } from "../../../prompt/bootstrap.ts";
import type { ChannelContribution } from "../../../types/contribution.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { compareConfigs, watchConfig, type ConfigEvent } from "../../config/edit/watch.ts";
import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import { findDefaultModel } from "../parts/model-text.ts";
import type { Parts } from "../parts/parts.ts";
import { channelsThatDiffer } from "../../config/keys/narrowing.ts";

/**
 * Applies changes of the config file as they come. An invalid file changes nothing and is reported until it is
 * corrected. Resolves when the signal has aborted and no change is being applied any more.
 */
export async function followConfig(
  parts: Parts,
  load: () => Promise<LoadedConfig>,
  signal: AbortSignal,
): Promise<void> {
  const { live, log } = parts;
  const { mode, debounceMs } = live.started.gateway.reload;
  if (mode === "off") return;
  try {
    // What is told at the start is that the files are not used.
    const isAnother = live.problems.length > 0;
    for await (const event of watchConfig({ current: live.loaded, load, debounceMs, signal, isAnother })) {
      if (signal.aborted) return;
      await applyAndTell(parts, event);
    }
  } catch (error) {
    log.error("config file is not watched any more", { error });
  }
}

/**
 * Reads the config again and resolves its secrets anew, also when the file is the same: the value of a variable, a file
 * or a program may have changed. Resolves with what was read; throws as `loadConfig` does, and the current config stays.
 */
export async function reloadConfig(parts: Parts): Promise<LoadedConfig> {
  const { live } = parts;
  const loaded = await loadConfig(await loadOptionsFor(live.contributions, live.paths));
  await apply(parts, { kind: "valid", loaded, ...compareConfigs(live.config, loaded.config) });
  return loaded;
}

async function applyAndTell(parts: Parts, event: ConfigEvent): Promise<void> {
  try {
    await apply(parts, event);
  } catch (error) {
    // A change that cannot be applied must not end the watch: the next one may correct it.
    const fix = error instanceof OpenClawError ? error.fix : "Mend the file; the log has the details.";
    parts.live.problems = [{ message: errorText(error), fix }];
    parts.log.error("config not applied", { error });
  }
  const { problems, loaded } = parts.live;
  const { path, hash } = event.kind === "valid" ? event.loaded : loaded;
  const payload = { valid: event.kind !== "invalid", problems, path, hash, ts: Date.now() };
  parts.events.publish({ event: "config.changed", payload, scope: "operator.read" });
}

/** Applies one event. A key waits for the restart until it has again the value of the start. */
async function apply(parts: Parts, event: ConfigEvent): Promise<void> {
  const { live, log } = parts;
  const { mode } = live.started.gateway.reload;
  if (event.kind === "invalid") {
    live.problems = [{ message: event.error.message, fix: event.error.fix }];
    log.error("config file is invalid: the running config stays", { error: event.error });
    return;
  }
  const sinceStart = compareConfigs(live.started, event.loaded.config);
  const waiting = mode === "restart" ? sinceStart.changed : sinceStart.restart;
  live.problems = waiting.map((key) => ({
    message: `restart needed: ${key}`,
    fix: "Run: openclaw gateway run --force",
  }));
  for (const key of waiting) if (event.changed.includes(key)) log.warn(`restart needed: ${key}`);
  if (mode === "restart") return;
  const stopped = channelsThatDiffer(event.loaded.config.channels, live.loaded.stops, event.loaded.stops);
  const known = new Set(live.agents.map(({ workspace }) => workspace));
  const replaced = await putIntoForce(parts, event.loaded);
  await seedNew(live.agents, known, log);
  applyLevels(parts, event.changed);
  await findDefaultModel(parts);
  for (const warning of event.loaded.warnings) log.warn(warning.text);
  log.info("config applied", { keys: event.changed.filter((key) => !waiting.includes(key)).join(" ") });
  const channels = [...new Set([...event.channels, ...stopped, ...replaced])];
  if (channels.length > 0) await parts.channels.restart(channels);
}

/**
 * Makes the first files of workspaces that are new; the others were made at the start. An agent whose files cannot be
 * made still answers.
 */
async function seedNew(agents: Parts["live"]["agents"], known: ReadonlySet<string>, log: Parts["log"]): Promise<void> {
  for (const { id, workspace, prompt } of agents) {
    if (prompt.skipBootstrap || known.has(workspace)) continue;
    await seedWorkspace(workspace).catch((error: unknown) => log.warn("workspace not made", { agent: id, error }));
  }
}

/**
 * Puts `next` into force with the plugins that it names; without `next`, loads and unloads plugins as the current
 * config says. Resolves with the ids of the channels that were added, removed or replaced.
 */
export async function putIntoForce(
  { live, plugins }: Pick<Parts, "live" | "plugins">,
  next?: LoadedConfig,
): Promise<readonly string[]> {
  const before = live.contributions.channels;
  await plugins.follow(next);
  return differing(before, live.contributions.channels);
}

/** The ids of channels that were added, removed or replaced. */
function differing(before: readonly ChannelContribution[], after: readonly ChannelContribution[]): readonly string[] {
  const changed = [...before.filter((one) => !after.includes(one)), ...after.filter((one) => !before.includes(one))];
  return changed.map(({ id }) => id);
}

/** Sets the levels of the file once one of them has changed; until then a level from the command line stays. */
function applyLevels({ live, log }: Parts, changed: readonly string[]): void {
  if (!changed.some((key) => /^logging\.(l|consoleL)evel$/.test(key))) return;
  const { level, consoleLevel } = live.config.logging;
  log.setLevels({ level, consoleLevel });
}
