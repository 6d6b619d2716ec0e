import { join } from "node:path";
import type { SkillSources } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Config } from "../config/schema.ts";
import type { Env } from "../config/secrets.ts";
import { packageRoot } from "../package-root.ts";

interface Surroundings {
  readonly config: Config;
  readonly stateDir: string;
  readonly env: Env;
  /** Of the plugins that are loaded. */
  readonly pluginDirs?: readonly string[];
}

/** Where the skills of an agent come from, and what this machine and the config let them use. */
export function skillSources(
  { workspace, prompt }: AgentSettings,
  { config, stateDir, env, pluginDirs = [] }: Surroundings,
): SkillSources {
  const { load, entries, limits, allowBundled = [] } = config.skills;
  const { skills: only } = prompt;
  const vars = Object.fromEntries(Object.entries(config.env.vars).map(([name, value]) => [name, value.reveal()]));
  return {
    workspace,
    stateDir,
    bundledDir: join(packageRoot, "skills"),
    extraDirs: load.extraDirs,
    pluginDirs,
    hidden: new Set(Object.keys(entries).filter((name) => entries[name]?.enabled === false)),
    allowBundled,
    limits,
    machine: { platform: process.platform, env: { ...vars, ...env }, config },
    ...(only && { only }),
  };
}
