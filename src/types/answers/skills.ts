import { z } from "zod";

const names = z.array(z.string());
const needs = z.looseObject({ bins: names, anyBins: names, env: names, config: names, os: names });

/** A way to get a program, with the words of a person who would do it. */
const wayToInstall = z.looseObject({
  id: z.string(),
  kind: z.string(),
  label: z.string(),
  bins: names,
  command: z.string().optional(),
});

const reportedSkill = z.looseObject({
  name: z.string(),
  description: z.string(),
  source: z.string(),
  bundled: z.boolean(),
  filePath: z.string(),
  baseDir: z.string(),
  skillKey: z.string(),
  emoji: z.string().optional(),
  homepage: z.string().optional(),
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
  /** Ways to get the programs that are missing. They are for people: the gateway installs no programs. */
  install: z.array(wayToInstall),
});
export type ReportedSkill = z.output<typeof reportedSkill>;

const skillReport = z.looseObject({
  workspaceDir: z.string(),
  managedSkillsDir: z.string(),
  agentId: z.string(),
  skills: z.array(reportedSkill),
});
export type SkillReport = z.output<typeof skillReport>;

/** A skill of the registry, in OpenClaw's words. */
const foundSkill = z.looseObject({
  score: z.number(),
  slug: z.string(),
  registry: z.string(),
  ownerHandle: z.string().optional(),
  /** What `openclaw skills install` takes. */
  installRef: z.string(),
  displayName: z.string(),
  summary: z.string().optional(),
  updatedAt: z.number().optional(),
});
export type RegistrySkill = z.output<typeof foundSkill>;

/** The answers of `skills.*`. */
export const skillAnswers = {
  search: z.looseObject({ results: z.array(foundSkill) }),
  status: skillReport,
  update: z.looseObject({
    ok: z.literal(true),
    skillKey: z.string(),
    config: z.looseObject({ enabled: z.boolean().optional() }),
  }),
};
