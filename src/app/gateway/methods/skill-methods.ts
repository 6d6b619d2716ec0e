import { z } from "zod";
import { defineMethod, type Method } from "../../../types/method.ts";
import { reportSkills, skillReport } from "../../compose/skill-report.ts";
import { skillSources } from "../../compose/skill-sources.ts";
import type { Parts } from "../parts/parts.ts";
import { agentCalled } from "./agent-called.ts";
import { writeByClient } from "./write-by-client.ts";

const name = z.string().min(1).max(200);
/** The methods that show the skills of an agent, and switch skills on and off. */
export const skillMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "skills.status",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: skillReport,
    run: async ({ agentId }) => {
      const { live } = parts;
      const agent = agentCalled(agentId, parts);
      const { config, contributions } = live;
      const { stateDir } = live.paths;
      const pluginDirs = contributions.skillFolders;
      return reportSkills(agent, skillSources(agent, { config, stateDir, env: process.env, pluginDirs }));
    },
  }),
  // The gateway knows no registry of skills.
  defineMethod({
    name: "skills.search",
    scope: "operator.read",
    params: z.looseObject({ query: z.string().optional() }),
    result: z.looseObject({ results: z.array(z.unknown()) }),
    run: async () => ({ results: [] }),
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
    result: z.looseObject({
      ok: z.literal(true),
      skillKey: z.string(),
      config: z.looseObject({ enabled: z.boolean().optional() }),
    }),
    run: (asked) => updateSkill(asked, parts),
  }),
];

interface SkillUpdate {
  readonly skillKey: string;
  readonly enabled?: boolean | undefined;
  readonly apiKey?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Writes the settings of a skill into the config; the watcher applies them. */
async function updateSkill({ skillKey, enabled, apiKey, env = {} }: SkillUpdate, parts: Parts) {
  const base = ["skills", "entries", skillKey];
  const edits = [
    ...(enabled === undefined ? [] : [{ path: [...base, "enabled"], value: enabled }]),
    ...(apiKey === undefined ? [] : [{ path: [...base, "apiKey"], value: apiKey }]),
    ...Object.entries(env).map(([variable, value]) => ({ path: [...base, "env", variable], value })),
  ];
  await writeByClient(edits, parts);
  return { ok: true as const, skillKey, config: enabled === undefined ? {} : { enabled } };
}
