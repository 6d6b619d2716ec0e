import type { AgentSettings } from "../settings.ts";

/** A skill that people may request. */
export interface RequestedSkill {
  readonly name: string;
  readonly description: string;
  /** Absolute path of the skill's `SKILL.md`. */
  readonly location: string;
}

/** The skills that people may request of an agent, in the order of their names. Costs a `stat` a skill. */
export type SkillsOf = (agent: AgentSettings) => Promise<readonly RequestedSkill[]>;
