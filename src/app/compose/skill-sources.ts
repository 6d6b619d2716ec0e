import { join } from "node:path";
import type { SkillMachine } from "../../prompt/skills/skill-conditions.ts";
import type { SkillFile } from "../../prompt/skills/skill-file.ts";
import type { SkillSources } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Secret } from "../../types/secret.ts";
import { own } from "../../utils/own.ts";
import type { Config } from "../config/schema/schema.ts";
import { packageRoot } from "../package-root.ts";
import type { Env } from "../../utils/env.ts";

interface Surroundings {
  readonly config: Config;
  readonly stateDir: string;
  readonly env: Env;
  /** Folders with the skills of the loaded plugins. */
  readonly pluginDirs?: readonly string[];
}

/** The sources of an agent's skills, and the facts of this machine and the config on which their conditions depend. */
export function skillSources(
  { workspace, prompt }: AgentSettings,
  { config, stateDir, env, pluginDirs = [] }: Surroundings,
): SkillSources {
  const { load, entries, limits, allowBundled = [] } = config.skills;
  const { skills: only } = prompt;
  return {
    workspace,
    stateDir,
    bundledDir: join(packageRoot, "skills"),
    extraDirs: load.extraDirs,
    pluginDirs,
    hidden: new Set(Object.keys(entries).filter((name) => entries[name]?.enabled === false)),
    configured: new Set(Object.keys(entries)),
    allowBundled,
    limits,
    machine: machineOf(config, env),
    variablesOf: (skill) => Object.keys(skillVariables(skill, config)),
    ...(only && { only }),
  };
}

/** The variables that the config sets for a skill. */
export function skillVariables(
  { name, key = name, primaryEnv }: Pick<SkillFile, "name" | "key" | "primaryEnv">,
  { skills }: Pick<Config, "skills">,
): Readonly<Record<string, Secret>> {
  const { env = {}, apiKey } = own(skills.entries, key) ?? own(skills.entries, name) ?? {};
  return { ...(apiKey && primaryEnv !== undefined && { [primaryEnv]: apiKey }), ...env };
}

/**
 * The facts that conditions of skills and hook folders test. Most have no conditions, so the environment is copied when
 * the first one asks.
 */
export function machineOf(config: Config, env: Env): SkillMachine {
  let all: Env | undefined;
  return {
    platform: process.platform,
    config,
    get env() {
      const vars = Object.entries(config.env.vars).map(([name, value]) => [name, value.reveal()] as const);
      return (all ??= { ...Object.fromEntries(vars), ...env });
    },
  };
}
