import { join } from "node:path";
import { homedir } from "node:os";
import { loadSkills } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema.ts";
import type { Env } from "../config/secrets.ts";
import { resolveAgents } from "../config/settings.ts";
import { filesOf } from "../compose/prompting.ts";
import { skillSources } from "../compose/skill-sources.ts";

interface Places {
  readonly config: Config;
  readonly paths: StatePaths;
  readonly env: Env;
}

/** Workspace files and skills that do not reach the model. */
export function promptCheck(places: Places): Check {
  return {
    id: "app.prompt",
    title: "Workspace and skills",
    run: async () => {
      const { config, paths, env } = places;
      const agents = resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });
      const cut = await Promise.all(agents.map((agent) => cutFiles(agent)));
      const skills = await Promise.all(agents.map((agent) => leftSkills(agent, places)));
      const results = [...new Map([...cut, ...skills].flat().map((one) => [one.message, one])).values()];
      return results.length > 0 ? results : [{ status: "ok", message: "All of it reaches the model." }];
    },
  };
}

async function cutFiles(agent: AgentSettings): Promise<readonly CheckResult[]> {
  const files = await filesOf(agent);
  return files.flatMap(({ path, content, wholeChars }) => {
    if (wholeChars === undefined) return [];
    const message = `${join(agent.workspace, path)}: about ${content.length} of its ${wholeChars} characters reach the model.`;
    const fix = "Shorten the file, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.";
    return [{ status: "warn", message, fix }];
  });
}

async function leftSkills(agent: AgentSettings, { config, paths, env }: Places): Promise<readonly CheckResult[]> {
  const left: CheckResult[] = [];
  await loadSkills(skillSources(agent, { config, stateDir: paths.stateDir, env }), ({ location, reason }) => {
    const fix = "Give the skill what it needs, or hide it: openclaw config set skills.entries.<name>.enabled false";
    left.push({ status: "warn", message: `${location} is not offered to the model: ${reason}.`, fix });
  });
  return left;
}
