import { readFile } from "node:fs/promises";
import { stampOf } from "../../store/file-stamp.ts";
import { errorCode } from "../../utils/missing.ts";
import { propertyOf } from "../../utils/own.ts";
import { type Frontmatter, parseFrontmatter } from "./frontmatter.ts";
import { type SkillMetadata, skillMetadata } from "./skill-metadata.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

/** A skill as listed in the system prompt. */
export interface SkillSummary {
  readonly name: string;
  /** When to use the skill. */
  readonly description: string;
  /** Absolute path of the skill's `SKILL.md`. */
  readonly location: string;
}

/** Content of a `SKILL.md`. */
export interface SkillFile extends SkillSummary, SkillMetadata {
  /** False with `disable-model-invocation: true`: only people may request the skill. */
  readonly isForModel: boolean;
  /** False with `user-invocable: false`: only the model may use the skill. */
  readonly isForPeople: boolean;
}

/** A `SKILL.md` that the model is not offered, and why. */
export interface BadSkill {
  readonly location: string;
  readonly reason: string;
}

const MAX_DESCRIPTION = 1024;

interface CachedSkill {
  readonly mtimeMs: number;
  readonly size: number;
  readonly read: SkillFile | BadSkill;
}

/** Skills by path, the most that are kept. */
const MOST_CACHED = 1000;
const cache = new Map<string, CachedSkill>();

async function readSource(location: string, source: string): Promise<SkillFile | BadSkill> {
  const front = await parseFrontmatter(source);
  if (front === undefined) {
    return { location, reason: "it does not begin with frontmatter between two lines of ---" };
  }
  if (typeof front === "string") return { location, reason: `its frontmatter ${front}` };
  const name = textOf(front, "name").trim();
  const description = textOf(front, "description").replaceAll(/\s+/g, " ").trim();
  if (name === "" || description === "") {
    return { location, reason: `its frontmatter has no ${name === "" ? "name" : "description"}` };
  }
  const metadata = skillMetadata(front["metadata"]);
  if (metadata === undefined) return { location, reason: "its metadata cannot be read" };
  const isForModel = textOf(front, "disable-model-invocation").toLowerCase() !== "true";
  const isForPeople = textOf(front, "user-invocable").toLowerCase() !== "false";
  const homepage = textOf(front, "homepage").trim();
  return {
    ...(homepage !== "" && { homepage }),
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    location,
    isForModel,
    isForPeople,
    ...metadata,
  };
}

function textOf(front: Frontmatter, key: string): string {
  const value = propertyOf(front, key);
  return typeof value === "string" ? value : "";
}

function forget(location: string): undefined {
  cache.delete(location);
}

/** A `SKILL.md` of at most `maxBytes`; undefined when there is none. Reads it again only after a change. Never throws. */
export async function readSkill(location: string, maxBytes: number): Promise<SkillFile | BadSkill | undefined> {
  try {
    const found = stampOf(location);
    if (!found) return forget(location);
    const { mtimeMs, size } = found;
    if (size > maxBytes || !found.isFile()) {
      return {
        location,
        reason: `it is not a regular file of at most ${maxBytes} bytes (skills.limits.maxSkillFileBytes)`,
      };
    }
    const known = cache.get(location);
    if (known?.mtimeMs === mtimeMs && known.size === size) return known.read;
    const read = await readSource(location, await readFile(location, "utf8"));
    cache.set(location, { mtimeMs, size, read });
    forgetOldest(cache, MOST_CACHED);
    return read;
  } catch (error) {
    forget(location);
    const code = errorCode(error) ?? String(error);
    // A folder without a SKILL.md is no skill, which is no problem.
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : { location, reason: `it cannot be read (${code})` };
  }
}
