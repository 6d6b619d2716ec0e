import { loadSkills, type LoadedSkills } from "../../prompt/skills/skills.ts";
import type { SkillVariables } from "../../tools/skill-variables.ts";
import type { AgentId } from "../../types/ids.ts";
import type { RequestedSkill } from "../../types/run/skill.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { shareCalls } from "../../utils/share-calls.ts";
import type { Live } from "../live.ts";
import { skillSources, skillVariables } from "./skill-sources.ts";

type Warn = (message: string, details: Readonly<Record<string, unknown>>) => void;

/** The skills of all agents as they were last read. */
export class SkillCatalog {
  /** Grows when the names or descriptions of skills change. */
  revision = 0;
  readonly #live: Live;
  readonly #warn: Warn;
  readonly #once = shareCalls<LoadedSkills>();
  readonly #byAgent = new Map<string, readonly RequestedSkill[]>();
  #known = "";

  /** `warn` is called for each skill that the model is not offered, each time that skills are read. */
  constructor(live: Live, warn: Warn) {
    this.#live = live;
    this.#warn = warn;
  }

  /**
   * Reads the skills of an agent; reads that begin at the same moment are one. Costs a `stat` a skill. Never rejects.
   */
  of(agent: AgentSettings): Promise<LoadedSkills> {
    const only = JSON.stringify(agent.prompt.skills ?? null);
    return this.#once(`${agent.id}\n${only}`, async () => {
      const { config, paths, contributions } = this.#live;
      const sources = skillSources(agent, {
        config,
        stateDir: paths.stateDir,
        env: process.env,
        pluginDirs: contributions.skillFolders,
      });
      const loaded = await loadSkills(sources, ({ location, reason }) =>
        this.#warn("skill not offered to the model", { skill: location, why: reason }),
      );
      const whole = this.#live.agents.find(({ id }) => id === agent.id) ?? agent;
      // A chat may have fewer skills than its agent.
      if (JSON.stringify(whole.prompt.skills ?? null) === only) this.#note(agent, loaded.forPeople);
      return loaded;
    });
  }

  /** The skills of an agent for which the config sets variables. Never rejects. */
  async variablesOf(id: AgentId): Promise<readonly SkillVariables[]> {
    const { config, agents } = this.#live;
    const agent = agents.find((one) => one.id === id);
    const isSet = Object.values(config.skills.entries).some((one) => one.apiKey ?? Object.keys(one.env).length > 0);
    if (!agent || !isSet) return [];
    const { usable } = await this.of(agent);
    return usable.flatMap((skill) => {
      const env = skillVariables(skill, config);
      return Object.keys(env).length === 0 ? [] : [{ location: skill.location, env }];
    });
  }

  /** The skills that people may request of some agent. */
  get requested(): readonly RequestedSkill[] {
    const skills = this.#live.agents.flatMap(({ id }) => this.#byAgent.get(id) ?? []);
    return [...new Map(skills.map((skill) => [skill.name, skill])).values()];
  }

  #note({ id }: AgentSettings, skills: readonly RequestedSkill[]): void {
    this.#byAgent.set(id, skills);
    const known = JSON.stringify(this.requested);
    if (known !== this.#known) this.revision += 1;
    this.#known = known;
  }
}
