import { dirname, join } from "node:path";
import { z } from "zod";
import { surveySkills, type SurveyedSkill } from "../../../prompt/skills/survey.ts";
import type { SkillOrigin } from "../../../prompt/skills/skills.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { skillSources } from "../../compose/skill-sources.ts";
import type { Parts } from "../parts/parts.ts";
import { agentCalled } from "./agent-called.ts";
import { writeByClient } from "./write-by-client.ts";

const name = z.string().min(1).max(200);
const names = z.array(z.string());
const needs = z.looseObject({ bins: names, anyBins: names, env: names, config: names, os: names });

const status = z.looseObject({
  workspaceDir: z.string(),
  managedSkillsDir: z.string(),
  agentId: z.string(),
  skills: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string(),
      source: z.string(),
      bundled: z.boolean(),
      filePath: z.string(),
      baseDir: z.string(),
      skillKey: z.string(),
      primaryEnv: z.string().optional(),
      always: z.boolean(),
      disabled: z.boolean(),
      blockedByAllowlist: z.boolean(),
      blockedByAgentFilter: z.boolean(),
      eligible: z.boolean(),
      platformIncompatible: z.boolean(),
      modelVisible: z.boolean(),
      userInvocable: z.boolean(),
      commandVisible: z.boolean(),
      requirements: needs,
      missing: needs,
      configChecks: z.array(z.looseObject({ path: z.string(), satisfied: z.boolean() })),
      /** Empty: the gateway installs no skills. */
      install: z.array(z.unknown()),
    }),
  ),
});

/** The methods that show the skills of an agent, and switch skills on and off. */
export const skillMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "skills.status",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: status,
    run: async ({ agentId }) => {
      const { live } = parts;
      const agent = agentCalled(agentId, parts);
      const { config, contributions } = live;
      const { stateDir } = live.paths;
      const pluginDirs = contributions.skillFolders;
      const found = await surveySkills(skillSources(agent, { config, stateDir, env: process.env, pluginDirs }));
      return {
        workspaceDir: agent.workspace,
        managedSkillsDir: join(stateDir, "skills"),
        agentId: agent.id,
        skills: found.map(shownSkill),
      };
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

/** The field's names of the sources. */
const SOURCES: Readonly<Record<SkillOrigin, string>> = {
  plugin: "openclaw-plugin",
  extra: "openclaw-extra",
  bundled: "openclaw-bundled",
  managed: "openclaw-managed",
  workspace: "openclaw-workspace",
};

function shownSkill({ skill, origin, unmet, blockedBy, isUsable }: SurveyedSkill) {
  const { location, isForModel, isForPeople, key, primaryEnv } = skill;
  const { always, bins, anyBins, env, config, os } = skill.needs;
  return {
    name: skill.name,
    description: skill.description,
    source: SOURCES[origin],
    bundled: origin === "bundled",
    filePath: location,
    baseDir: dirname(location),
    skillKey: key ?? skill.name,
    ...(primaryEnv !== undefined && { primaryEnv }),
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
    install: [],
  };
}

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
