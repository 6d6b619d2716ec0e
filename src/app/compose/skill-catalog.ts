import { loadSkills, type LoadedSkills } from "../../prompt/skills/skills.ts";
import type { SkillVariables } from "../../tools/skill-variables.ts";
import type { AgentId } from "../../types/ids.ts";
import type { RequestedSkill } from "../../types/run/skill.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { own } from "../../utils/own.ts";
import { shareCalls } from "../../utils/share-calls.ts";
import type { Live } from "./live.ts";
import { skillSources } from "./skill-sources.ts";

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

  /** Reads them; those that begin to be read at the same moment share one read. Costs a `stat` a skill. Never rejects. */
  of(agent: AgentSettings): Promise<LoadedSkills> {
    return this.#once(agent.id, async () => {
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
      this.#note(agent, loaded.forPeople);
      return loaded;
    });
  }

  /** Those of an agent for which the config sets variables. Never rejects. */
  async variablesOf(id: AgentId): Promise<readonly SkillVariables[]> {
    const { entries } = this.#live.config.skills;
    const agent = this.#live.agents.find((one) => one.id === id);
    if (!agent || Object.values(entries).every(({ env }) => Object.keys(env).length === 0)) return [];
    const { forModel, forPeople } = await this.of(agent);
    const known = new Map([...forModel, ...forPeople].map(({ name, location }) => [location, name]));
    return [...known].flatMap(([location, name]) => {
      const env = own(entries, name)?.env ?? {};
      return Object.keys(env).length === 0 ? [] : [{ location, env }];
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
