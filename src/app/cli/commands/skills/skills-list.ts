import { OpenClawError } from "../../../../types/errors.ts";
import { nearest } from "../../../config/keys/nearest.ts";
import type { ReportedSkill, SkillReport } from "../../../../types/answers/skills.ts";
import { writeJson, type Io } from "../../io.ts";
import { dim, pairs, table } from "../../table.ts";
import { shellWord } from "../../../../utils/text/shell-word.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readSkills, type SkillFlags } from "./skill-state.ts";

export type SkillListFlags = SkillFlags & { readonly eligible?: boolean; readonly verbose?: boolean };

/** Lists the skills of an agent with what keeps each from being used. Throws `NOT_FOUND`. */
export async function skillsList(io: Io, flags: SkillListFlags): Promise<number> {
  const report = await readSkills(io, flags);
  const skills = report.skills.filter((skill) => flags.eligible !== true || skill.eligible);
  if (flags.json === true) {
    writeJson(io, { ...report, skills });
    return 0;
  }
  const isVerbose = flags.verbose === true;
  const heads = ["SKILL", "STATE", "SOURCE", "ABOUT", ...(isVerbose ? ["FILE"] : [])];
  const rows = skills.map((skill) => [
    named(skill),
    stateOf(skill),
    sourceOf(skill),
    shortened(skill.description),
    ...(isVerbose ? [skill.filePath] : []),
  ]);
  const ready = report.skills.filter(({ eligible }) => eligible).length;
  io.out(
    skills.length === 0
      ? `${dim(io, "No skills.")}\n`
      : `${table(io, heads, rows)}${ready} of ${report.skills.length} can be used.\n`,
  );
  return 0;
}

const named = ({ name, emoji }: ReportedSkill): string => (emoji === undefined ? name : `${emoji} ${name}`);

const sourceOf = ({ source }: ReportedSkill): string => source.replace(/^openclaw-/, "");

const MOST_SHOWN = 90;
const shortened = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text);

/** `ready`, or why it is not used. */
function stateOf(skill: ReportedSkill): string {
  if (skill.disabled) return "off (skills.entries)";
  if (skill.blockedByAllowlist) return "off (skills.allowBundled)";
  if (skill.blockedByAgentFilter) return "not for this agent";
  const missing = missingOf(skill);
  return missing.length === 0 ? "ready" : `needs ${missing.join("; ")}`;
}

/** The unmet conditions, each with its names. */
function missingOf({ missing }: ReportedSkill): readonly string[] {
  const { os, bins, anyBins, env, config } = missing;
  const kinds: readonly (readonly [string, readonly string[], string])[] = [
    ["the system", os, " or "],
    ["program", bins, ", "],
    ["one program of", anyBins, ", "],
    ["variable", env, ", "],
    ["config key", config, ", "],
  ];
  return kinds.flatMap(([kind, names, join]) => (names.length === 0 ? [] : [`${kind} ${names.join(join)}`]));
}

/** Shows all that is known of a skill. Throws `NOT_FOUND`. */
export async function skillsInfo(io: Io, name: string, flags: SkillFlags): Promise<number> {
  const skill = requireSkill(await readSkills(io, flags), name);
  if (flags.json === true) {
    writeJson(io, skill);
    return 0;
  }
  io.out(textOf(io, skill));
  return 0;
}

/** Throws `NOT_FOUND`. */
function requireSkill({ skills }: SkillReport, name: string): ReportedSkill {
  const found = skills.find((one) => one.name === name) ?? skills.find((one) => one.skillKey === name);
  if (found) return found;
  const near = nearest(
    name,
    skills.map((one) => one.name),
  );
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no skill ${name}.`,
    fix: near === undefined ? "openclaw skills list shows the skills." : `Did you mean ${near}?`,
  });
}

const yesNo = (is: boolean): string => (is ? "yes" : "no");
const listed = (names: readonly string[]): string | undefined => (names.length === 0 ? undefined : names.join(", "));

function textOf(io: Io, skill: ReportedSkill): string {
  const { requirements } = skill;
  const steps = stepsFor(skill);
  const facts = pairs(io, [
    ["name", named(skill)],
    ["about", skill.description],
    ["state", stateOf(skill)],
    ["source", sourceOf(skill)],
    ["file", skill.filePath],
    ["homepage", skill.homepage],
    ["the model gets it", yesNo(skill.modelVisible)],
    ["people may request it", yesNo(skill.commandVisible)],
    ["systems", listed(requirements.os)],
    ["programs", listed(requirements.bins)],
    ["one program of", listed(requirements.anyBins)],
    ["variables", listed(requirements.env)],
    ["config keys", listed(requirements.config)],
    ["settings", `skills.entries.${skill.skillKey}`],
  ]);
  if (steps.length === 0) return facts;
  return `${facts}\nTo use it:\n${steps.map((step) => `  ${withoutTerminalControls(step)}\n`).join("")}`;
}

/** The steps after which a skill can be used, as far as they are known. */
function stepsFor(skill: ReportedSkill): readonly string[] {
  const { missing, skillKey, primaryEnv, install } = skill;
  const programs = [...missing.bins, ...missing.anyBins];
  const entry = `skills.entries.${skillKey}`;
  const ways = install.map((way) => {
    const { command } = way;
    return typeof command === "string" && command !== way.label ? `${way.label}: ${command}` : way.label;
  });
  return [
    ...(missing.os.length > 0 ? [`It works only on ${missing.os.join(" or ")}.`] : []),
    ...(skill.disabled ? [`Enable it: openclaw config set ${shellWord(`${entry}.enabled`)} true`] : []),
    ...(skill.blockedByAllowlist ? [`Add ${skill.name} to skills.allowBundled.`] : []),
    ...(skill.blockedByAgentFilter ? ["Add it to the skills of the agent (agents.list[].skills)."] : []),
    ...(programs.length > 0 && ways.length === 0 ? [`Install ${programs.join(", ")}, so that PATH has it.`] : []),
    ...(programs.length > 0 ? ways : []),
    ...missing.env.map((name) => {
      const key = name === primaryEnv ? `${entry}.apiKey` : `${entry}.env.${name}`;
      return `Set ${name} in the gateway's environment, or: openclaw config set ${shellWord(key)} <value>`;
    }),
    ...missing.config.map((path) => `Set the config key: openclaw config set ${shellWord(path)} <value>`),
  ];
}

/** Reports which skills can be used. 0 also when one cannot. Throws `NOT_FOUND`. */
export async function checkSkills(io: Io, flags: SkillFlags): Promise<number> {
  const { skills, ...where } = await readSkills(io, flags);
  const found = groupsOf(skills);
  const summary = {
    total: skills.length,
    ...Object.fromEntries(Object.entries(found).map(([group, members]) => [group, members.length])),
  };
  if (flags.json === true) {
    const lists = Object.fromEntries(
      Object.entries(found).map(([group, members]) => [group, members.map(({ name }) => name)]),
    );
    const missing = found.missingRequirements.map(({ name, missing: lacks, install }) => ({
      name,
      missing: lacks,
      install,
    }));
    writeJson(io, { ...where, summary, ...lists, missingRequirements: missing });
    return 0;
  }
  const { eligible, modelVisible, commandVisible, missingRequirements } = found;
  io.out(
    pairs(io, [
      ["agent", where.agentId],
      ["skills", String(skills.length)],
      ["can be used", String(eligible.length)],
      ["the model gets", String(modelVisible.length)],
      ["people may request", String(commandVisible.length)],
      ["lack something", String(missingRequirements.length)],
    ]),
  );
  const kept = skills.filter((skill) => !skill.eligible);
  for (const skill of kept) io.out(`${withoutTerminalControls(`${named(skill)}: ${stateOf(skill)}`)}\n`);
  if (kept.length > 0) io.out("`openclaw skills info <name>` says how to get what one lacks.\n");
  return 0;
}

const groupsOf = (skills: readonly ReportedSkill[]) => ({
  eligible: skills.filter(({ eligible }) => eligible),
  modelVisible: skills.filter(({ modelVisible }) => modelVisible),
  commandVisible: skills.filter(({ commandVisible }) => commandVisible),
  disabled: skills.filter(({ disabled }) => disabled),
  blocked: skills.filter(({ blockedByAllowlist }) => blockedByAllowlist),
  agentFiltered: skills.filter(({ blockedByAgentFilter }) => blockedByAgentFilter),
  notInjected: skills.filter(({ eligible, modelVisible }) => eligible && !modelVisible),
  missingRequirements: skills.filter((skill) => missingOf(skill).length > 0),
});
