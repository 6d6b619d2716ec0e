import { homedir } from "node:os";
import { acquireStateLock } from "../../store/lock/lock.ts";
import { applyEnv } from "../config/env-vars.ts";
import { loadConfig } from "../config/load.ts";
import { makeStateDirs, resolvePaths } from "../config/paths.ts";
import { openCore, type Core } from "../compose/core.ts";
import { bundledContributions } from "../contributions/extensions.ts";
import { Live } from "../compose/live.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import { openPlugins } from "../plugins/open-plugins.ts";
import { openLog } from "../log/log.ts";

/** Opens the state directory without a daemon, with its plugins, for one piece of work. Throws `STATE_LOCKED` while a daemon runs on it. */
export async function withLocalCore<T>(work: (core: Core) => Promise<T>): Promise<T> {
  process.umask(0o077);
  const paths = resolvePaths(process.env);
  await makeStateDirs(paths);
  process.env["OPENCLAW_STATE_DIR"] = paths.stateDir;
  const contributions = bundledContributions();
  const loaded = await loadConfig(await loadOptionsFor(contributions, paths));
  applyEnv(loaded.config, process.env);
  const lock = await acquireStateLock(paths.stateDir);
  try {
    return await inCore(new Live(paths, process.env["HOME"] ?? homedir(), loaded, contributions), work);
  } finally {
    await lock.release();
  }
}

async function inCore<T>(live: Live, work: (core: Core) => Promise<T>): Promise<T> {
  const { level, redactPatterns } = live.config.logging;
  const log = openLog({ dir: live.paths.logs, level, consoleLevel: "silent", consoleStyle: "pretty", redactPatterns });
  const core = await openCore(live, log, ALONE);
  const plugins = await openPlugins({ live, core, log, requestHeartbeat: () => undefined });
  try {
    return await work(core);
  } finally {
    await plugins.close();
    await core.close();
  }
}

const ALONE = {
  links: { link: () => undefined, limits: () => undefined },
  gate: async () => ({ kind: "drop", why: "no channels here" }) as const,
  statusLines: () => [],
};
