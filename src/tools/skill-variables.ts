import { hasOwnerRights } from "../types/run/principal.ts";
import type { AgentId } from "../types/ids.ts";
import type { Tool, ToolContribution, ToolScene } from "../types/run/tool.ts";
import type { Secret } from "../types/secret.ts";
import { isFields } from "../utils/fields.ts";

/** A skill with variables of its own. */
export interface SkillVariables {
  /** Absolute path of the skill's `SKILL.md`. */
  readonly location: string;
  readonly env: Readonly<Record<string, Secret>>;
}

/** Returns the skills of an agent for which the config sets variables. */
export type SkillVariablesOf = (agent: AgentId) => Promise<readonly SkillVariables[]>;

/**
 * The same tools with variables of skills: once a run with an owner's rights has read a `SKILL.md`, its commands get
 * the variables that the config sets for that skill, until the run ends.
 */
export function givingSkillVariables(
  contributions: readonly ToolContribution[],
  skillsOf: SkillVariablesOf,
): readonly ToolContribution[] {
  /** Used skills by their scene, which all tools of one run share. */
  const used = new WeakMap<ToolScene, Map<string, SkillVariables>>();
  const usedIn = (scene: ToolScene) => {
    const known = used.get(scene) ?? new Map<string, SkillVariables>();
    used.set(scene, known);
    return known;
  };
  const wrap = { read: noting, exec: giving } as const;
  return contributions.map((contribution) => {
    const { name } = contribution;
    if (name !== "read" && name !== "exec") return contribution;
    return {
      ...contribution,
      forRun(scene: ToolScene) {
        const tool = contribution.forRun(scene);
        if (!tool || !hasOwnerRights(scene.acting.principal)) return tool;
        return wrap[name](tool, { scene, skillsOf, used: usedIn(scene) });
      },
    };
  });
}

interface Run {
  readonly scene: ToolScene;
  readonly skillsOf: SkillVariablesOf;
  readonly used: Map<string, SkillVariables>;
}

const noting = (tool: Tool, { scene, skillsOf, used }: Run): Tool => ({
  ...tool,
  async run(input, context) {
    const result = await tool.run(input, context);
    const path = isFields(input) ? input["path"] : undefined;
    if (typeof path !== "string" || result.isError === true) return result;
    const placeOf = (one: string) => scene.files.locate(one, context.workspace, "read").catch(() => undefined);
    const read = await placeOf(path);
    for (const skill of await skillsOf(scene.agent.id))
      if (read !== undefined && (await placeOf(skill.location)) === read) used.set(skill.location, skill);
    return result;
  },
});

const giving = (tool: Tool, { used }: Run): Tool => ({
  ...tool,
  run(input, context) {
    if (used.size === 0) return tool.run(input, context);
    const commandEnv = async () => {
      const own = [...used.values()].flatMap(({ env }) => Object.entries(env));
      return {
        ...(await context.commandEnv?.()),
        ...Object.fromEntries(own.map(([name, value]) => [name, value.reveal()])),
      };
    };
    return tool.run(input, { ...context, commandEnv });
  },
});
