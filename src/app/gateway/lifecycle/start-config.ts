import type { Contributions } from "../../../plugins/contributions.ts";
import { applyEnv } from "../../config/env-vars.ts";
import { keepLastValid, lastValidHint, loadLastValid } from "../../config/last-valid.ts";
import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import type { StatePaths } from "../../config/paths.ts";
import { requireLocal } from "../../config/remote.ts";
import { sentences } from "../../../types/errors.ts";
import { ConfigError } from "../../config/schema/problem.ts";
import { bundledContributions } from "../../contributions/extensions.ts";
import type { Live } from "../../live.ts";
import type { OpenLog } from "../../log/log.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";

/** The config, and the inputs with which it was read. */
export interface StartConfig {
  readonly contributions: Contributions;
  readonly loaded: LoadedConfig;
  /** When the config was kept that is used instead of the file. */
  readonly keptAt?: number | undefined;
  load(): Promise<LoadedConfig>;
}

/** Reads the config and sets the variables of `env.vars`. Throws `OpenClawError`. */
export async function readStartConfig(paths: StatePaths, wants: KeptWish): Promise<StartConfig> {
  const contributions = bundledContributions();
  const options = async () => loadOptionsFor(contributions, paths);
  const load = async () => loadConfig(await options());
  const read = async (): Promise<ReadConfig> => {
    if (wants.wantsKept && !wants.isRestart) return loadLastValid(paths, await options());
    try {
      return await load();
    } catch (error) {
      // A restart must not end what the flag has started.
      if (wants.wantsKept) return loadLastValid(paths, await options());
      throw error instanceof ConfigError ? await withHint(error, paths) : error;
    }
  };
  const loaded = await read();
  requireLocal(loaded.config);
  applyEnv(loaded.config, process.env);
  return { contributions, load, loaded, keptAt: loaded.keptAt };
}

type ReadConfig = LoadedConfig & { readonly keptAt?: number };

interface KeptWish {
  readonly wantsKept: boolean;
  readonly isRestart: boolean;
}

async function withHint({ code, message, fix, problems, cause }: ConfigError, paths: StatePaths): Promise<ConfigError> {
  const hint = await lastValidHint(paths);
  return new ConfigError(code, { message, fix: hint === undefined ? fix : sentences(fix, hint), problems, cause });
}

/** Keeps the config of a gateway that has become ready. The config may be what ends a start, so one without channels keeps none. */
export async function keepConfig(
  { loaded, keptAt }: StartConfig,
  { paths, safeMode }: Live,
  log: OpenLog,
): Promise<void> {
  if (keptAt !== undefined || safeMode !== undefined) return;
  await keepLastValid(paths, loaded, Date.now()).catch((error: unknown) =>
    log.warn("the config is not kept for a later start", { error }),
  );
}

/** Says in the log, and as a problem until the file is changed, that the gateway runs with a config that was kept. */
export function tellKept({ keptAt: at }: StartConfig, live: Live, log: OpenLog): void {
  if (at === undefined) return;
  const message = `${live.loaded.path} is not used: the gateway runs with the config of an earlier start, kept ${new Date(at).toISOString()}.`;
  const fix = "Mend the file; a change of it applies, and the next start reads it again. See: openclaw doctor";
  live.problems = [{ message, fix }];
  log.warn(message, { fix });
}
