import { z } from "zod";
import { defined } from "../../utils/defined.ts";
import { propertyOf } from "../../utils/own.ts";
import type { SkillConditions } from "./skill-conditions.ts";

const names = z.union([z.array(z.coerce.string()), z.string().transform((name) => [name])]).default([]);
const flag = z.union([z.boolean(), z.string().transform((text) => text === "true")]).default(false);

/** Kinds of programs that install other programs, as skills in the field name them. */
const INSTALLERS = ["brew", "node", "go", "uv", "apt", "download"] as const;
const text = z.string().trim().min(1).max(300).optional().catch(undefined);

const installer = z.object({
  id: text,
  kind: z.enum(INSTALLERS),
  label: text,
  bins: names,
  os: names,
  /** The name of the package, under the word that its kind uses. */
  formula: text,
  package: text,
  module: text,
  url: text,
});

/** A way to get a program that a skill needs. It is shown to people, and never run. */
export type SkillInstaller = z.output<typeof installer>;

const ownMetadata = z.lazy(() =>
  z.object({
    emoji: text,
    homepage: text,
    // A kind that this version does not know is no reason to leave the skill out.
    install: z
      .array(installer.nullable().catch(null))
      .transform((all) => all.filter((one) => one !== null))
      .catch([]),
    skillKey: z.string().optional(),
    primaryEnv: z.string().optional(),
    always: flag,
    os: names,
    requires: z.object({ bins: names, anyBins: names, env: names, config: names }).prefault({}),
  }),
);

/** The present name of the project and the earlier ones under which skills in the field have their conditions. */
const OWN_KEYS = ["openclaw", "clawdbot", "clawdis"];

export interface SkillMetadata {
  /** Name of the skill in `skills.entries`; its own name when unset. */
  readonly key?: string;
  /** The variable that gets `apiKey` of the skill's settings. */
  readonly primaryEnv?: string;
  readonly needs: SkillConditions;
  readonly emoji?: string;
  readonly homepage?: string;
  readonly installers: readonly SkillInstaller[];
}

/** The gateway's part of the `metadata` of a `SKILL.md` or `HOOK.md`; an empty object when it has none. */
export const ownMetadataOf = (metadata: unknown): unknown =>
  OWN_KEYS.map((key) => propertyOf(metadata, key)).find((one) => one !== undefined) ?? {};

/** The conditions in the `metadata` of a `SKILL.md`; undefined when it has some that cannot be read. Never throws. */
export const skillMetadata = (metadata: unknown): SkillMetadata | undefined => metadataOf(ownMetadataOf(metadata));

function metadataOf(conditions: unknown): SkillMetadata | undefined {
  const { success, data } = ownMetadata.safeParse(conditions);
  if (!success) return undefined;
  const { always, os, requires, skillKey, primaryEnv, emoji, homepage, install } = data;
  return {
    needs: { always, os, ...requires },
    installers: install,
    ...defined({ emoji, homepage }),
    ...(skillKey !== undefined && { key: skillKey }),
    ...(primaryEnv !== undefined && { primaryEnv }),
  };
}
