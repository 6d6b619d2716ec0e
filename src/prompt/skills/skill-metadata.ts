import JSON5 from "json5";
import { z } from "zod";
import { propertyOf } from "../../utils/own.ts";
import { frontmatterBlock } from "./frontmatter.ts";
import type { SkillConditions } from "./skill-conditions.ts";

const names = z.union([z.array(z.coerce.string()), z.string().transform((name) => [name])]).default([]);
const flag = z.union([z.boolean(), z.string().transform((text) => text === "true")]).default(false);

const ownMetadata = z.object({
  skillKey: z.string().optional(),
  always: flag,
  os: names,
  requires: z.object({ bins: names, anyBins: names, env: names, config: names }).prefault({}),
});

/** The present name of the project and the earlier ones under which skills in the field have their conditions. */
const OWN_KEYS = ["openclaw", "clawdbot", "clawdis"];

export interface SkillMetadata {
  /** Its name in `skills.entries`; that of the skill when unset. */
  readonly key?: string;
  readonly needs: SkillConditions;
}

/** The conditions in the frontmatter of a `SKILL.md`; undefined when it has some that cannot be read. Never throws. */
export function skillMetadata(source: string): SkillMetadata | undefined {
  const block = frontmatterBlock(source, "metadata") ?? "";
  if (!OWN_KEYS.some((key) => block.includes(key))) return metadataOf({});
  const value = flowValue(block) ?? indentedValue(block.split("\n"));
  const found = OWN_KEYS.map((key) => propertyOf(value, key)).find((one) => one !== undefined);
  return found === undefined ? undefined : metadataOf(found);
}

function metadataOf(conditions: unknown): SkillMetadata | undefined {
  const { success, data } = ownMetadata.safeParse(conditions);
  if (!success) return undefined;
  const { always, os, requires, skillKey } = data;
  return { needs: { always, os, ...requires }, ...(skillKey !== undefined && { key: skillKey }) };
}

/** `{…}` and `[…]`, as JSON or with words that have no quotes; undefined for anything else. */
function flowValue(text: string): unknown {
  const flow = text.trim();
  if (!/^[[{]/.test(flow)) return undefined;
  const quoted = flow.replaceAll(/([[,:{]\s*)(?!true\b|false\b)([A-Za-z_][\w./-]*)(?=\s*[,\]}])/g, '$1"$2"');
  return parsed(flow) ?? parsed(quoted);
}

function parsed(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    // The caller tries another way to read it, and says when there is none.
    return undefined;
  }
}

const LINE = /^(\s*)(?:- *(.*)|(["']?)([^\s:"'][^:"']*)\3:(?:\s+(.*)|$))$/;

/** The nested keys and lists of YAML's indented form: maps, lists of texts, and what `flowValue` reads. */
function indentedValue(lines: readonly string[]): unknown {
  const told = lines.map((line) => line.replace(/(?:^|\s)#.*$/, "").trimEnd()).filter((line) => line.trim() !== "");
  const [first] = told;
  if (first === undefined) return "";
  const depth = first.length - first.trimStart().length;
  const starts = told.flatMap((line, index) => (line.length - line.trimStart().length === depth ? [index] : []));
  const items = starts.map((start, index) => ({
    found: LINE.exec(told[start] ?? ""),
    below: told.slice(start + 1, starts[index + 1]),
  }));
  if (items.some(({ found }) => !found)) return told.map((line) => line.trim()).join(" ");
  if (first.trimStart().startsWith("-")) return items.map(({ found }) => plainValue(found?.[2]));
  return Object.fromEntries(items.map(({ found, below }) => [found?.[4], nestedValue(found?.[5], below)]));
}

function nestedValue(text: string | undefined, below: readonly string[]): unknown {
  const whole = [text ?? "", ...below].join("\n");
  return flowValue(whole) ?? (text === undefined ? indentedValue(below) : plainValue(text));
}

const plainValue = (text = ""): string => text.trim().replace(/^(["'])(.*)\1$/, "$2");
