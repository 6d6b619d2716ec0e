import { judgeHooks, type JudgedHook, type JudgedHooks } from "../../../../plugins/internal-hooks/judge-hooks.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { nearest } from "../../../config/keys/nearest.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { hookScene } from "../../../plugins/hooks/hook-scene.ts";
import type { Io } from "../../io.ts";
import { readPluginState, type PluginCommandState } from "../plugins/plugin-state.ts";

/** The parts that the commands on hooks work with. */
export interface HookState extends JudgedHooks {
  readonly plugins: PluginCommandState;
}

/** Finds all hooks, and what the config says of each. Runs none of their code. */
export async function readHookState(io: Io): Promise<HookState> {
  const plugins = await readPluginState(io);
  const { state, found, where } = plugins;
  const { config, paths } = state;
  const agents = resolveAgents(config, { home: where.home, stateDir: paths.stateDir });
  const scene = hookScene({ config, paths, agents, plugins: found.plugins, env: io.env });
  return { plugins, ...(await judgeHooks(scene)) };
}

/** The same where the config must be valid; throws its problem. */
export async function requireHookState(io: Io): Promise<HookState> {
  const read = await readHookState(io);
  const { problem } = read.plugins.state;
  if (problem) throw problem;
  return read;
}

/** Throws `NOT_FOUND`. */
export function requireHook({ hooks, leftOut }: HookState, name: string): JudgedHook {
  const hook = hooks.find((one) => one.name === name) ?? hooks.find((one) => one.key === name);
  if (hook) return hook;
  const bad = leftOut.find((one) => one.name === name || one.folder.endsWith(`/${name}`));
  if (bad)
    throw new OpenClawError("NOT_FOUND", {
      message: `${name} cannot be used as a hook: ${bad.why}.`,
      fix: `Correct it in ${bad.folder}.`,
    });
  const near = nearest(
    name,
    hooks.map((one) => one.name),
  );
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no hook ${name}.`,
    fix: near === undefined ? "openclaw hooks list shows the hooks." : `Did you mean ${near}?`,
  });
}
