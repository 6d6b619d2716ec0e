import { z } from "zod";
import { registryOf, searchSkills } from "../../../plugins/skills/registry.ts";
import { type RegistrySkill, skillAnswers } from "../../../types/answers/skills.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { defined } from "../../../utils/defined.ts";
import { reportSkills } from "../../compose/skill-report.ts";
import { skillSources } from "../../compose/skill-sources.ts";
import { REDACTED } from "../../config/shown.ts";
import type { Parts } from "../parts/parts.ts";
import { agentCalled } from "../parts/agent-called.ts";
import { writeByClient } from "./write-by-client.ts";

const name = z.string().min(1).max(200);

/** The methods that show the skills of an agent, and switch skills on and off. */
export const skillMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "skills.status",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: skillAnswers.status,
    run: async ({ agentId }) => {
      const { live } = parts;
      const agent = agentCalled(agentId, parts);
      const { config, contributions } = live;
      const { stateDir } = live.paths;
      const pluginDirs = contributions.skillFolders;
      return reportSkills(agent, skillSources(agent, { config, stateDir, env: process.env, pluginDirs }));
    },
  }),
  defineMethod({
    name: "skills.search",
    scope: "operator.read",
    params: z.looseObject({ query: z.string().max(400).optional(), limit: z.int().min(1).max(100).default(20) }),
    result: skillAnswers.search,
    run: ({ query = "", limit }) => search(query, limit),
  }),
  defineMethod({
    name: "skills.update",
    scope: "operator.admin",
    params: z.looseObject({
      skillKey: name,
      enabled: z.boolean().optional(),
      apiKey: z.string().max(8192).optional(),
      env: z.record(name, z.string().max(8192)).optional(),
      source: z.never({ error: "is not supported: this gateway installs no skills" }).optional(),
    }),
    result: skillAnswers.update,
    run: (asked) => updateSkill(asked, parts),
  }),
];

/** Asks the registry that `openclaw skills search` asks. Throws UNAVAILABLE when it does not answer. */
async function search(query: string, limit: number): Promise<{ results: RegistrySkill[] }> {
  try {
    const registry = registryOf(process.env);
    const found = await searchSkills(registry, query, limit);
    // The registry says only the order.
    const results = found.map(({ ref, name: displayName, slug, owner, about, updatedAt }, at) => ({
      score: 1 / (at + 1),
      slug,
      registry: registry.address.href,
      installRef: ref,
      displayName,
      ...defined({
        ownerHandle: owner,
        summary: about,
        updatedAt: updatedAt === undefined ? undefined : Date.parse(updatedAt),
      }),
    }));
    return { results };
  } catch (error) {
    if (error instanceof OpenClawError) throw new MethodError("UNAVAILABLE", withFix(error));
    throw error;
  }
}

interface SkillUpdate {
  readonly skillKey: string;
  readonly enabled?: boolean | undefined;
  readonly apiKey?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Writes the settings of a skill into the config; the watcher applies them. An empty key or variable is removed, and the
 * placeholder of one that is not shown changes nothing.
 */
async function updateSkill({ skillKey, enabled, apiKey, env = {} }: SkillUpdate, parts: Parts) {
  const base = ["skills", "entries", skillKey];
  const secrets = [
    ...(apiKey === undefined ? [] : [{ path: [...base, "apiKey"], value: apiKey.trim() }]),
    ...Object.entries(env).map(([variable, value]) => ({ path: [...base, "env", variable], value: value.trim() })),
  ].filter(({ value }) => value !== REDACTED);
  const edits = [
    ...(enabled === undefined ? [] : [{ path: [...base, "enabled"], value: enabled }]),
    ...secrets.map(({ path, value }) => ({ path, value: value || undefined })),
  ];
  await writeByClient(edits, parts);
  return { ok: true as const, skillKey, config: enabled === undefined ? {} : { enabled } };
}
