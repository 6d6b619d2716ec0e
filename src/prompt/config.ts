import { z } from "zod";
import { about, makes } from "../utils/config.ts";
import { SKILL_LIMITS } from "./skills/skills.ts";

const isTimezone = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));

/** Keys of `agents.defaults` that shape the prompt. */
export const promptDefaultsShape = {
  workspace: z
    .string()
    .optional()
    .meta(
      about(
        "Workspace",
        "Directory the agent works in and reads its files from. `workspace` in the state directory when unset.",
      ),
    ),
  systemPromptOverride: z.string().optional().meta(about("System prompt", "Replaces the whole built system prompt.")),
  skipBootstrap: z
    .boolean()
    .default(false)
    .meta(about("Skip bootstrap", "Leaves the workspace without the starter files.")),
  bootstrapMaxChars: z
    .int()
    .min(1)
    .default(20_000)
    .meta(
      about(
        "Bootstrap file size",
        "Characters of one workspace file that reach the prompt; longer ones lose their middle.",
      ),
    ),
  bootstrapTotalMaxChars: z
    .int()
    .min(1)
    .default(150_000)
    .meta(about("Bootstrap total size", "Characters of all workspace files together that reach the prompt.")),
  skills: z
    .array(z.string())
    .optional()
    .meta(about("Skills", "Names of the skills the agent may see; all of them when unset.")),
  userTimezone: z
    .string()
    .refine(isTimezone, "is no time zone; write it as Europe/Vienna")
    .optional()
    .meta(about("Time zone", "IANA name (`Europe/Vienna`) for times told to the model; the machine's own when unset.")),
};

const skillLimit = (most: number) => z.int().min(1).default(most);

const limitsConfig = z
  .strictObject({
    maxCandidatesPerRoot: skillLimit(SKILL_LIMITS.maxCandidatesPerRoot).meta(
      about("Folders per directory", "Folders of one skill directory that are looked at, in the order of their names."),
    ),
    maxSkillsLoadedPerSource: skillLimit(SKILL_LIMITS.maxSkillsLoadedPerSource).meta(
      about("Skills per directory", "Skills that one skill directory may give."),
    ),
    maxSkillsInPrompt: skillLimit(SKILL_LIMITS.maxSkillsInPrompt).meta(
      about("Skills in the prompt", "Skills that the model is told about."),
    ),
    maxSkillsPromptChars: skillLimit(SKILL_LIMITS.maxSkillsPromptChars).meta(
      about("Size of the list", "Characters of the list of skills in the system prompt."),
    ),
    maxSkillFileBytes: skillLimit(SKILL_LIMITS.maxSkillFileBytes).meta(
      about("File size", "Bytes of a `SKILL.md`; a larger one is not used."),
    ),
  })
  .prefault({})
  .meta(about("Limits", "What exceeds them is not offered to the model; the log and `openclaw doctor` name it."));

/** `skills.*` */
export const skillsConfig = z.strictObject({
  allowBundled: z
    .array(z.string())
    .optional()
    .meta(about("Bundled", "Of the skills that come with the gateway, only these; all when unset or empty.")),
  load: z
    .strictObject({
      extraDirs: z
        .array(z.string())
        .prefault([])
        .meta(about("Extra directories", "Further directories with skill folders, lowest precedence.")),
    })
    .prefault({})
    .meta(about("Load", "Where skills come from.")),
  limits: limitsConfig,
  entries: z
    .record(
      z.string(),
      z.strictObject({
        enabled: z.boolean().default(true).meta(about("Enabled", "Takes the skill off the list when false.")),
      }),
    )
    .prefault({})
    .meta(about("Entries", "Settings per skill, by its name.")),
});

export type SkillsConfig = z.output<typeof skillsConfig>;
