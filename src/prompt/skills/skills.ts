import { join, sep } from "node:path";
import { namesIn } from "../../store/file-stamp.ts";
import { errorCode } from "../../utils/missing.ts";
import { BUILT_IN_ORIGIN, type TextPart } from "../parts.ts";
import { type SkillMachine, unmetCondition } from "./skill-conditions.ts";
import { type BadSkill, readSkill, type SkillFile, type SkillSummary } from "./skill-file.ts";

/** How many skills are read and offered. The defaults are the same as in other gateways of this kind. */
export interface SkillLimits {
  /** Folders of one directory that are read, in the order of their names. */
  readonly maxCandidatesPerRoot: number;
  /** Skills that one directory may give. */
  readonly maxSkillsLoadedPerSource: number;
  readonly maxSkillsInPrompt: number;
  /** Characters of all entries of the list together. */
  readonly maxSkillsPromptChars: number;
  readonly maxSkillFileBytes: number;
}

export const SKILL_LIMITS: SkillLimits = {
  maxCandidatesPerRoot: 300,
  maxSkillsLoadedPerSource: 200,
  maxSkillsInPrompt: 150,
  maxSkillsPromptChars: 18_000,
  maxSkillFileBytes: 256_000,
};

export interface SkillSources {
  readonly workspace: string;
  readonly stateDir: string;
  readonly bundledDir: string;
  readonly extraDirs: readonly string[];
  /** Absolute paths: skills of plugins, or folders of such skills. */
  readonly pluginDirs?: readonly string[];
  /** Names that may be seen; all when unset. */
  readonly only?: readonly string[];
  /** Names that are switched off. */
  readonly hidden?: ReadonlySet<string>;
  /** Names of bundled skills that may be seen; all when unset or empty. */
  readonly allowBundled?: readonly string[];
  readonly machine: SkillMachine;
  /** Names that the config has settings for. A bundled skill that lacks something is reported only when it is one of them. */
  readonly configured?: ReadonlySet<string>;
  /** Names of variables that the config sets for a skill, besides the machine's. */
  variablesOf?(skill: SkillFile): readonly string[];
  /** `SKILL_LIMITS` when unset. */
  readonly limits?: SkillLimits;
}

type Report = (bad: BadSkill) => void;

const FILE = "SKILL.md";

async function readDirectory(directory: string, limits: SkillLimits): Promise<readonly (SkillFile | BadSkill)[]> {
  let names: readonly string[];
  try {
    names = (await namesIn(directory)) ?? [];
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    return code === "ENOENT" || code === "ENOTDIR" ? [] : [{ location: directory, reason: `cannot be read (${code})` }];
  }
  const { maxCandidatesPerRoot: most, maxSkillFileBytes } = limits;
  const all = names.filter((name) => !name.startsWith(".")).toSorted();
  const read = await Promise.all(
    all.slice(0, most).map((name) => readSkill(join(directory, name, FILE), maxSkillFileBytes)),
  );
  const found = read.filter((skill) => skill !== undefined);
  const reason = `only ${most} of its ${all.length} entries are looked at (skills.limits.maxCandidatesPerRoot)`;
  return all.length > most ? [...found, { location: directory, reason }] : found;
}

const isBad = (read: SkillFile | BadSkill): read is BadSkill => "reason" in read;

/** A skill, or the skills of a directory, where a plugin may have either. */
async function skillsAt(path: string, limits: SkillLimits, report: Report): Promise<readonly SkillFile[]> {
  const own = await readSkill(join(path, FILE), limits.maxSkillFileBytes);
  if (own === undefined) return skillsIn(path, limits, report);
  if (!isBad(own)) return [own];
  report(own);
  return [];
}

/** The skills of one directory. `report` gets the skills that cannot be used, and the skills over the limit. */
async function skillsIn(directory: string, limits: SkillLimits, report: Report): Promise<readonly SkillFile[]> {
  const read = await readDirectory(directory, limits);
  for (const bad of read.filter(isBad)) report(bad);
  const skills = read.filter((one): one is SkillFile => !isBad(one));
  const most = limits.maxSkillsLoadedPerSource;
  const reason = `its directory has more than ${most} skills (skills.limits.maxSkillsLoadedPerSource)`;
  for (const { location } of skills.slice(most)) report({ location, reason });
  return skills.slice(0, most);
}

/** A skill with the place that its source has among all: a greater one replaces a smaller one. */
type RankedSkill = SkillFile & { readonly rank: number };

/** The skills for the system prompt, and the skills that people may request, each in the order of their names. */
export interface LoadedSkills {
  readonly forModel: readonly SkillSummary[];
  readonly forPeople: readonly SkillSummary[];
  /** All skills of both lists. */
  readonly usable: readonly SkillFile[];
}

/**
 * The skills of all sources by name. A later source replaces an earlier one: plugins, extra directories, bundled,
 * `<stateDir>/skills`, `<workspace>/skills`. Where there are too many for the prompt, skills of later sources go first.
 * `report` gets each skill that the model is not offered, unless the config or the skill itself hides it, or it is a bundled one that
 * lacks something and that the config does not name. Costs a `stat` a skill while nothing changes. Never throws.
 */
export async function loadSkills(sources: SkillSources, report: Report = () => undefined): Promise<LoadedSkills> {
  const limits = sources.limits ?? SKILL_LIMITS;
  const usable = await whatIsUsable([...(await readAll(sources, limits, report)).values()], sources, report);
  const byRank = usable.filter((skill) => skill.isForModel).toSorted((a, b) => b.rank - a.rank || byName(a, b));
  return {
    forModel: whatFits(byRank, limits, report).toSorted(byName),
    forPeople: usable
      .filter((skill) => skill.isForPeople)
      .map(summaryOf)
      .toSorted(byName),
    usable,
  };
}

/** Kinds of sources, each of which replaces those before it. `managed`: of the state directory. */
export type SkillOrigin = "plugin" | "extra" | "bundled" | "managed" | "workspace";

/** The skills of each source, in the order in which a later source replaces an earlier one. */
export async function readSources(
  sources: SkillSources,
  limits: SkillLimits,
  report: Report,
): Promise<readonly { readonly origin: SkillOrigin; readonly skills: readonly SkillFile[] }[]> {
  const directories: readonly (readonly [SkillOrigin, string])[] = [
    ...sources.extraDirs.map((path) => ["extra", path] as const),
    ["bundled", sources.bundledDir],
    ["managed", join(sources.stateDir, "skills")],
    ["workspace", join(sources.workspace, "skills")],
  ];
  return Promise.all([
    ...(sources.pluginDirs ?? []).map(async (path) => ({
      origin: "plugin" as const,
      skills: await skillsAt(path, limits, report),
    })),
    ...directories.map(async ([origin, path]) => ({ origin, skills: await skillsIn(path, limits, report) })),
  ]);
}

async function readAll(
  sources: SkillSources,
  limits: SkillLimits,
  report: Report,
): Promise<ReadonlyMap<string, RankedSkill>> {
  const read = await readSources(sources, limits, report);
  const found = new Map<string, RankedSkill>();
  for (const [rank, { skills }] of read.entries()) {
    const seen = skills.filter((skill) => isSeen(skill, sources) && !isLeftOut(skill, sources));
    for (const skill of seen) found.set(skill.name, { ...skill, rank });
  }
  return found;
}

const summaryOf = ({ name, description, location }: SkillSummary): SkillSummary => ({ name, description, location });

const byName = (a: SkillSummary, b: SkillSummary): number => (a.name < b.name ? -1 : 1);

async function whatIsUsable<T extends SkillFile>(
  skills: readonly T[],
  sources: SkillSources,
  report: Report,
): Promise<readonly T[]> {
  const { machine, variablesOf } = sources;
  const reasons = await Promise.all(skills.map((skill) => unmetCondition(skill.needs, machine, variablesOf?.(skill))));
  return skills.filter((skill, index) => {
    const reason = reasons[index];
    if (reason !== undefined && isWanted(skill, sources)) report({ location: skill.location, reason });
    return reason === undefined;
  });
}

/** Whether somebody chose the skill: bundled ones are there without a choice. */
const isWanted = (skill: SkillFile, { bundledDir, configured, allowBundled = [], only = [] }: SkillSources): boolean =>
  !isBundled(skill, bundledDir) ||
  [skill.name, skill.key ?? skill.name].some(
    (name) => configured?.has(name) === true || allowBundled.includes(name) || only.includes(name),
  );

const isBundled = ({ location }: SkillSummary, bundledDir: string): boolean =>
  location.startsWith(join(bundledDir, sep));

/** As many skills as the list in the prompt may have, from the first on. */
function whatFits(skills: readonly SkillSummary[], limits: SkillLimits, report: Report): readonly SkillSummary[] {
  const fitting: SkillSummary[] = [];
  let chars = 0;
  for (const skill of skills.map(summaryOf)) {
    const { location } = skill;
    const size = skillLines(skill).length + 1;
    const isTooMany = fitting.length >= limits.maxSkillsInPrompt;
    if (isTooMany || chars + size > limits.maxSkillsPromptChars) {
      const limit = isTooMany ? "maxSkillsInPrompt" : "maxSkillsPromptChars";
      report({ location, reason: `the list of skills is full (skills.limits.${limit} is ${limits[limit]})` });
      continue;
    }
    chars += size;
    fitting.push(skill);
  }
  return fitting;
}

/** True for a bundled skill that `allowBundled` does not name, if that names any. */
export const isLeftOut = (skill: SkillSummary, { bundledDir, allowBundled = [] }: SkillSources): boolean =>
  allowBundled.length > 0 && isBundled(skill, bundledDir) && !allowBundled.includes(skill.name);

const isSeen = ({ name, key }: SkillFile, { only, hidden }: SkillSources): boolean =>
  (only === undefined || only.includes(name)) && hidden?.has(name) !== true && hidden?.has(key ?? name) !== true;

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const skillLines = (skill: SkillSummary): string =>
  [
    "  <skill>",
    `    <name>${escapeXml(skill.name)}</name>`,
    `    <description>${escapeXml(skill.description)}</description>`,
    `    <location>${escapeXml(skill.location)}</location>`,
    "  </skill>",
  ].join("\n");

/** The list for the system prompt below its heading, a piece for each skill. */
export function skillParts(heading: string, skills: readonly SkillSummary[]): readonly TextPart[] {
  return [
    { name: "skills", source: BUILT_IN_ORIGIN, text: `${heading}\n<available_skills>` },
    ...skills.map((skill, index) => ({
      name: `skill ${skill.name}`,
      source: skill.location,
      text: `${skillLines(skill)}${index === skills.length - 1 ? "\n</available_skills>" : ""}`,
    })),
  ];
}
