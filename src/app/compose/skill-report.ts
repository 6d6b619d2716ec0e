import { dirname, join } from "node:path";
import type { SkillInstaller } from "../../prompt/skills/skill-metadata.ts";
import { surveySkills, type SurveyedSkill } from "../../prompt/skills/survey.ts";
import type { SkillOrigin, SkillSources } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ReportedSkill, SkillReport } from "../../types/answers/skills.ts";
import { defined } from "../../utils/defined.ts";
import { shellWord } from "../../utils/text/shell-word.ts";

/** All skills of an agent with what keeps each from being used. Never rejects. */
export async function reportSkills(agent: AgentSettings, sources: SkillSources): Promise<SkillReport> {
  const found = await surveySkills(sources);
  return {
    workspaceDir: agent.workspace,
    managedSkillsDir: join(sources.stateDir, "skills"),
    agentId: agent.id,
    skills: found.map((one) => reported(one, sources.machine.platform)),
  };
}

/** The field's names of the sources. */
const SOURCES: Readonly<Record<SkillOrigin, string>> = {
  plugin: "openclaw-plugin",
  extra: "openclaw-extra",
  bundled: "openclaw-bundled",
  managed: "openclaw-managed",
  workspace: "openclaw-workspace",
};

function reported({ skill, origin, unmet, blockedBy, isUsable }: SurveyedSkill, platform: string): ReportedSkill {
  const { location, isForModel, isForPeople, key, primaryEnv, emoji, homepage } = skill;
  const { always, bins, anyBins, env, config, os } = skill.needs;
  const missing = [...unmet.bins, ...unmet.anyBins];
  return {
    name: skill.name,
    description: skill.description,
    source: SOURCES[origin],
    bundled: origin === "bundled",
    filePath: location,
    baseDir: dirname(location),
    skillKey: key ?? skill.name,
    ...defined({ primaryEnv, emoji, homepage }),
    always,
    disabled: blockedBy.includes("config"),
    blockedByAllowlist: blockedBy.includes("allowlist"),
    blockedByAgentFilter: blockedBy.includes("agent"),
    eligible: isUsable,
    platformIncompatible: unmet.os.length > 0,
    modelVisible: isUsable && isForModel,
    userInvocable: isForPeople,
    commandVisible: isUsable && isForPeople,
    requirements: { bins: [...bins], anyBins: [...anyBins], env: [...env], config: [...config], os: [...os] },
    missing: unmet,
    configChecks: config.map((path) => ({ path, satisfied: !unmet.config.includes(path) })),
    install: missing.length === 0 ? [] : skill.installers.filter((one) => isFor(one, platform)).map(wayOf),
  };
}

const isFor = ({ os }: SkillInstaller, platform: string): boolean => os.length === 0 || os.includes(platform);

const COMMANDS: Readonly<Record<SkillInstaller["kind"], string>> = {
  brew: "brew install",
  apt: "apt-get install",
  node: "npm install -g",
  go: "go install",
  uv: "uv tool install",
  download: "download",
};

function wayOf(one: SkillInstaller, index: number): ReportedSkill["install"][number] {
  const named = one.formula ?? one.package ?? one.module ?? one.url;
  // A person copies the command into a terminal, and a stranger may have written the name.
  const command = `${COMMANDS[one.kind]} ${named === undefined ? one.bins.map(shellWord).join(" ") : shellWord(named)}`;
  return {
    id: one.id ?? `${one.kind}-${index}`,
    kind: one.kind,
    label: one.label ?? command,
    bins: [...one.bins],
    command,
  };
}
