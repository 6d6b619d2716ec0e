import { z } from "zod";
import { about, secretField } from "../utils/config.ts";
import { makes } from "../utils/makes.ts";
import { SKILL_LIMITS } from "./skills/skills.ts";

const isTimezone = makes((timeZone) => new Intl.DateTimeFormat("en", { timeZone }));

const count = (usual: number) => z.int().min(1).default(usual);

const startupContext = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .meta(about("Enabled", "Whether a fresh session begins with notes of the last days.")),
    applyOn: z
      .array(z.enum(["new", "reset"]))
      .default(["new", "reset"])
      .meta(about("Commands", "After which command without further text.")),
    dailyMemoryDays: z
      .int()
      .min(1)
      .max(14)
      .default(2)
      .meta(about("Days", "How many days, with today, have their `memory/YYYY-MM-DD.md` in the first turn.")),
    maxFileBytes: count(16_384).meta(about("File size", "A note with more bytes is only named.")),
    maxFileChars: count(1200).meta(about("Characters", "Most characters of one note; a longer one loses its middle.")),
    maxTotalChars: count(2800).meta(about("All characters", "Most characters of all notes together.")),
  })
  .prefault({})
  .meta(
    about(
      "Startup context",
      "The notes of the last days in the first turn of an owner's private conversation that begins with `/new` or `/reset` alone.",
    ),
  );

/** Keys of `agents.defaults` that shape the prompt. */
export const promptDefaultsShape = {
  workspace: z
    .string()
    .optional()
    .meta(
      about(
        "Workspace",
        "Directory in which the agent works and has its files. `workspace` in the state directory when unset.",
      ),
    ),
  systemPromptOverride: z.string().optional().meta(about("System prompt", "Replaces the whole system prompt.")),
  skipBootstrap: z
    .boolean()
    .default(false)
    .meta(about("Skip bootstrap", "Does not create the starter files in the workspace.")),
  bootstrapMaxChars: z
    .int()
    .min(1)
    .default(20_000)
    .meta(
      about(
        "Bootstrap file size",
        "Most characters of one workspace file in the prompt; a longer file loses its middle.",
      ),
    ),
  bootstrapTotalMaxChars: z
    .int()
    .min(1)
    .default(150_000)
    .meta(about("Bootstrap total size", "Most characters of all workspace files together in the prompt.")),
  startupContext,
  skills: z
    .array(z.string())
    .optional()
    .meta(about("Skills", "Names of the skills that the agent sees; all when unset.")),
  userTimezone: z
    .string()
    .refine(isTimezone, "is no time zone; write it as Europe/Vienna")
    .optional()
    .meta(about("Time zone", "IANA name (`Europe/Vienna`) for times in prompts; the machine's time zone when unset.")),
};

const skillLimit = (most: number) => z.int().min(1).default(most);

const limitsConfig = z
  .strictObject({
    maxCandidatesPerRoot: skillLimit(SKILL_LIMITS.maxCandidatesPerRoot).meta(
      about("Folders per directory", "Most folders of one skill directory that are read, in the order of their names."),
    ),
    maxSkillsLoadedPerSource: skillLimit(SKILL_LIMITS.maxSkillsLoadedPerSource).meta(
      about("Skills per directory", "Most skills of one skill directory."),
    ),
    maxSkillsInPrompt: skillLimit(SKILL_LIMITS.maxSkillsInPrompt).meta(
      about("Skills in the prompt", "Most skills in the system prompt."),
    ),
    maxSkillsPromptChars: skillLimit(SKILL_LIMITS.maxSkillsPromptChars).meta(
      about("Size of the list", "Most characters of the list of skills in the system prompt."),
    ),
    maxSkillFileBytes: skillLimit(SKILL_LIMITS.maxSkillFileBytes).meta(
      about("File size", "Most bytes of a `SKILL.md`; a larger file is not used."),
    ),
  })
  .prefault({})
  .meta(
    about(
      "Limits",
      "Limits of skills. The model does not get skills beyond them; the log and `openclaw doctor` name those.",
    ),
  );

/** `skills.*` */
export const skillsConfig = z.strictObject({
  allowBundled: z
    .array(z.string())
    .optional()
    .meta(about("Bundled", "Bundled skills that are used; all when unset or empty.")),
  load: z
    .strictObject({
      extraDirs: z
        .array(z.string())
        .prefault([])
        .meta(about("Extra directories", "Additional directories with skill folders; they have the lowest priority.")),
    })
    .prefault({})
    .meta(about("Load", "Directories of skills.")),
  limits: limitsConfig,
  entries: z
    .record(
      z.string(),
      z.strictObject({
        enabled: z.boolean().default(true).meta(about("Enabled", "False removes the skill from the list.")),
        env: z
          .record(z.string(), secretField)
          .prefault({})
          .meta(
            about(
              "Variables",
              "Variables for the commands of an owner's turn, from when it has read the skill's `SKILL.md` until it ends. A skill " +
                "that needs one of them in `requires.env` is offered.",
            ),
          ),
        apiKey: secretField
          .optional()
          .meta(about("Key", "The same for the one variable that the skill names as `primaryEnv`.")),
      }),
    )
    .prefault({})
    .meta(about("Entries", "Settings per skill, by its name.")),
});

export type SkillsConfig = z.output<typeof skillsConfig>;
