import { dirname, join, resolve } from "node:path";
import { activationOf } from "../../../plugins/found/activation.ts";
import type { HookRoot } from "../../../plugins/internal-hooks/find-hooks.ts";
import type { HookScene } from "../../../plugins/internal-hooks/judge-hooks.ts";
import type { FoundPlugin } from "../../../types/plugin/manifest.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { machineOf } from "../../compose/skill-sources.ts";
import type { StatePaths } from "../../config/paths.ts";
import type { Config } from "../../config/schema/schema.ts";
import { packageRoot } from "../../package-root.ts";
import { expandHome, type Env } from "../../../utils/env.ts";

interface Surroundings {
  readonly config: Config;
  readonly paths: StatePaths;
  /** The default agent first. */
  readonly agents: readonly AgentSettings[];
  readonly plugins: readonly FoundPlugin[];
  readonly env: Env;
}

/** The places of hook folders, and the facts that decide which hooks are called. */
export function hookScene({ config, paths, agents, plugins, env }: Surroundings): HookScene {
  const { internal } = config.hooks;
  const fromConfig = (path: string) => resolve(dirname(paths.configPath), expandHome(path, env));
  const on = plugins.filter((plugin) => activationOf(plugin, config.plugins).isOn);
  return {
    config: internal,
    roots: [
      { source: "bundled", dir: join(packageRoot, "hooks") },
      ...on.flatMap(rootsOf),
      { source: "managed", dir: paths.hooks },
      ...internal.load.extraDirs.map((path) => ({ source: "managed" as const, dir: fromConfig(path) })),
      ...agents.map(({ id, workspace }) => ({
        source: "workspace" as const,
        dir: join(workspace, "hooks"),
        agent: id,
      })),
    ],
    machine: machineOf(config, env),
    workspaces: agents.map(({ workspace }) => workspace),
    closed: [paths.hooks],
  };
}

const rootsOf = ({ manifest, root }: FoundPlugin): readonly HookRoot[] =>
  manifest.hooks.map((folder) => ({
    source: "plugin",
    dir: resolve(root, folder),
    plugin: manifest.id,
    isHook: true,
  }));
