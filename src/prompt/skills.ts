import { readdir, readFile, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { errorCode } from "../utils/missing.ts";
import { parseFrontmatter } from "./frontmatter.ts";
import { BUILT_IN, type TextPart } from "./parts.ts";

/** A skill as the model sees it in the list. */
export interface SkillSummary {
  readonly name: string;
  /** When to use it. */
  readonly description: string;
  /** Absolute path of its `SKILL.md`. */
  readonly location: string;
}

export interface SkillSources {
  readonly workspace: string;
  readonly stateDir: string;
  readonly bundledDir: string;
  readonly extraDirs: readonly string[];
  /** Names that may be seen; all when unset. */
  readonly only?: readonly string[];
  /** Names that are switched off. */
  readonly hidden?: ReadonlySet<string>;
  /** Names of bundled skills that may be seen; all when unset or empty. */
  readonly allowBundled?: readonly string[];
}

/** A `SKILL.md` that cannot be used, and why. */
export interface BadSkill {
  readonly location: string;
  readonly reason: string;
}

const MAX_BYTES = 256 * 1024;
const MAX_DESCRIPTION = 1024;

interface CachedSkill {
  readonly mtimeMs: number;
  readonly size: number;
  readonly read: SkillSummary | BadSkill;
}

const cache = new Map<string, CachedSkill>();

function summarise(location: string, source: string): SkillSummary | BadSkill {
  const front = parseFrontmatter(source);
  if (front === undefined) {
    return { location, reason: "it does not begin with frontmatter between two lines of ---" };
  }
  const name = front["name"]?.trim() ?? "";
  const description = front["description"]?.replaceAll(/\s+/g, " ").trim() ?? "";
  if (name === "" || description === "") {
    return { location, reason: `its frontmatter has no ${name === "" ? "name" : "description"}` };
  }
  return { name, description: description.slice(0, MAX_DESCRIPTION), location };
}

async function readSkill(location: string): Promise<SkillSummary | BadSkill | undefined> {
  try {
    const found = await stat(location);
    const { mtimeMs, size } = found;
    const known = cache.get(location);
    if (known?.mtimeMs === mtimeMs && known.size === size) {
      return known.read;
    }
    const read =
      size > MAX_BYTES || !found.isFile()
        ? { location, reason: `it is not a regular file of at most ${MAX_BYTES / 1024} KB` }
        : summarise(location, await readFile(location, "utf8"));
    cache.set(location, { mtimeMs, size, read });
    return read;
  } catch (error) {
    cache.delete(location);
    const code = errorCode(error) ?? String(error);
    // A folder without a SKILL.md is no skill; that is no fault.
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : { location, reason: `it cannot be read (${code})` };
  }
}

async function readDirectory(directory: string): Promise<readonly (SkillSummary | BadSkill)[]> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    return code === "ENOENT" || code === "ENOTDIR" ? [] : [{ location: directory, reason: `cannot be read (${code})` }];
  }
  const read = await Promise.all(
    names
      .filter((name) => !name.startsWith("."))
      .toSorted()
      .map((name) => readSkill(join(directory, name, "SKILL.md"))),
  );
  return read.filter((skill) => skill !== undefined);
}

/**
 * The skills of all sources by name; a later source takes the place of an earlier one: extra directories, bundled,
 * `<stateDir>/skills`, `<workspace>/skills`. `told` hears of each file that cannot be used. Costs a `stat` a skill
 * while nothing changes. Never throws.
 */
export async function loadSkills(
  sources: SkillSources,
  told: (bad: BadSkill) => void = () => undefined,
): Promise<readonly SkillSummary[]> {
  const directories = [
    ...sources.extraDirs,
    sources.bundledDir,
    join(sources.stateDir, "skills"),
    join(sources.workspace, "skills"),
  ];
  const found = new Map<string, SkillSummary>();
  for (const read of (await Promise.all(directories.map(readDirectory))).flat()) {
    if ("reason" in read) {
      told(read);
    } else if (isSeen(read.name, sources) && !isLeftOut(read, sources)) {
      found.set(read.name, read);
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** One of the gateway's own that the config does not name, where it names any. */
const isLeftOut = ({ name, location }: SkillSummary, { bundledDir, allowBundled = [] }: SkillSources): boolean =>
  allowBundled.length > 0 && location.startsWith(join(bundledDir, sep)) && !allowBundled.includes(name);

const isSeen = (name: string, { only, hidden }: SkillSources): boolean =>
  (only === undefined || only.includes(name)) && hidden?.has(name) !== true;

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
    { name: "skills", source: BUILT_IN, text: `${heading}\n<available_skills>` },
    ...skills.map((skill, index) => ({
      name: `skill ${skill.name}`,
      source: skill.location,
      text: `${skillLines(skill)}${index === skills.length - 1 ? "\n</available_skills>" : ""}`,
    })),
  ];
}
