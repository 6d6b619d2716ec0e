import { unmetNeeds, type UnmetNeeds } from "./skill-conditions.ts";
import type { SkillFile } from "./skill-file.ts";
import { isLeftOut, readSources, SKILL_LIMITS, type SkillOrigin, type SkillSources } from "./skills.ts";

/**
 * Who keeps a skill from an agent: `config` switches it off in `skills.entries`, `allowlist` is `skills.allowBundled`,
 * `agent` the agent's own list.
 */
export type SkillBlock = "config" | "allowlist" | "agent";

/** A skill that was found, whether or not it can be used. */
export interface SurveyedSkill {
  readonly skill: SkillFile;
  readonly origin: SkillOrigin;
  readonly blockedBy: readonly SkillBlock[];
  readonly unmet: UnmetNeeds;
  readonly isUsable: boolean;
}

/** All skills of the sources by name, in the order of the names; a later source replaces an earlier one. Never throws. */
export async function surveySkills(sources: SkillSources): Promise<readonly SurveyedSkill[]> {
  const read = await readSources(sources, sources.limits ?? SKILL_LIMITS, () => undefined);
  const byName = new Map(read.flatMap(({ origin, skills }) => skills.map((skill) => [skill.name, { skill, origin }])));
  const all = await Promise.all([...byName.values()].map((found) => surveyed(found, sources)));
  return all.toSorted((a, b) => a.skill.name.localeCompare(b.skill.name));
}

async function surveyed(
  { skill, origin }: Pick<SurveyedSkill, "skill" | "origin">,
  sources: SkillSources,
): Promise<SurveyedSkill> {
  const { only, hidden, machine, variablesOf } = sources;
  const unmet = await unmetNeeds(skill.needs, machine, variablesOf?.(skill));
  const isOff = hidden?.has(skill.name) === true || hidden?.has(skill.key ?? skill.name) === true;
  const blocks: readonly (readonly [SkillBlock, boolean])[] = [
    ["config", isOff],
    ["allowlist", isLeftOut(skill, sources)],
    ["agent", only !== undefined && !only.includes(skill.name)],
  ];
  const blockedBy = blocks.flatMap(([block, isBlocked]) => (isBlocked ? [block] : []));
  const isMet = Object.values(unmet).every((names) => names.length === 0);
  return { skill, origin, blockedBy, unmet, isUsable: isMet && blockedBy.length === 0 };
}
