import { join } from "node:path";
import type { SkillSources } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Config } from "../config/schema.ts";
import type { Env } from "../config/secrets.ts";
import { packageRoot } from "../package-root.ts";

/** Where the skills of an agent come from, and what this machine and the config let them use. */
export function skillSources(
  { workspace, prompt }: AgentSettings,
  { config, stateDir, env }: { config: Config; stateDir: string; env: Env },
): SkillSources {
  const { load, entries, limits, allowBundled = [] } = config.skills;
  const { skills: only } = prompt;
  const vars = Object.fromEntries(Object.entries(config.env.vars).map(([name, value]) => [name, value.reveal()]));
  return {
    workspace,
    stateDir,
    bundledDir: join(packageRoot, "skills"),
    extraDirs: load.extraDirs,
    hidden: new Set(Object.keys(entries).filter((name) => entries[name]?.enabled === false)),
    allowBundled,
    limits,
    machine: { platform: process.platform, env: { ...vars, ...env }, config },
    ...(only && { only }),
  };
}
