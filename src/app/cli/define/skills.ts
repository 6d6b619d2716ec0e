import { Option, type Command } from "commander";
import type { SkillFlags } from "../commands/skills/skill-state.ts";
import type { SkillListFlags } from "../commands/skills/skills-list.ts";
import type { SkillInstallFlags, SkillUpdateFlags } from "../commands/skills/skills-install.ts";
import { type Act, wholeNumber } from "./act.ts";

/** `skills …` */
export function defineSkills(program: Command, act: Act): void {
  const skills = program.command("skills").description("instructions that agents can read when they need them");
  defineLooks(skills, act);
  defineInstalls(skills, act);
}

const AGENT = "--agent <id>";

function defineLooks(skills: Command, act: Act): void {
  skills
    .command("list", { isDefault: true })
    .description("list the skills of an agent, and what keeps one from being used (the default)")
    .option(AGENT, "agent; the default agent unless given")
    .option("--eligible", "only those that can be used")
    .option("-v, --verbose", "with their files")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: SkillListFlags) =>
        (await import("../commands/skills/skills-list.ts")).skillsList(io, flags),
      ),
    );
  skills
    .command("info")
    .argument("<name>", "skill")
    .description("show all that is known of a skill, what it lacks, and how to get that")
    .option(AGENT, "agent; the default agent unless given")
    .option("--json", "for scripts")
    .action(
      act(async (io, name: string, flags: SkillFlags) =>
        (await import("../commands/skills/skills-list.ts")).skillsInfo(io, name, flags),
      ),
    );
  skills
    .command("check")
    .description("report which skills can be used, and which lack a program, a variable or a config key")
    .option(AGENT, "agent; the default agent unless given")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: SkillFlags) => (await import("../commands/skills/skills-list.ts")).checkSkills(io, flags)),
    );
}

function defineInstalls(skills: Command, act: Act): void {
  consentOptions(
    skills
      .command("install")
      .argument(
        "<source>",
        "folder, .zip or .tgz, its https address, git:<address>[#ref], or @owner/slug of the registry",
      )
      .description("show what a skill is, then install it for all agents, or for one")
      .option(AGENT, "into the workspace of this agent")
      .addOption(new Option("--global", "into the skills of all agents, as without flags").conflicts("agent"))
      .option("--as <name>", "the name of its folder")
      .option("--version <version>", "this version of the registry, which no update changes"),
  ).action(
    act(async (io, source: string, flags: SkillInstallFlags) =>
      (await import("../commands/skills/skills-install.ts")).skillsInstall(io, source, flags),
    ),
  );
  consentOptions(
    skills
      .command("update")
      .argument("[name]", "what was installed")
      .description("install the newest version from where a skill came from")
      .option(AGENT, "in the workspace of this agent")
      .addOption(new Option("--global", "of the skills of all agents, as without flags").conflicts("agent"))
      .option("--all", "all installed skills"),
  ).action(
    act(async (io, name: string | undefined, flags: SkillUpdateFlags) =>
      (await import("../commands/skills/skills-install.ts")).skillsUpdate(io, name, flags),
    ),
  );
  skills
    .command("search")
    .argument("[words...]", "words; what is used most now without them")
    .description("search the registry for skills")
    .option("--limit <count>", "most results", wholeNumber(1, 100), 20)
    .option("--json", "for scripts")
    .action(
      act(async (io, words: readonly string[], flags: { readonly limit: number; readonly json?: boolean }) =>
        (await import("../commands/skills/skills-install.ts")).skillsSearch(io, words, flags),
      ),
    );
}

const consentOptions = (command: Command): Command =>
  command
    .option("--yes", "do not ask")
    .option("--force", "do not ask, and replace an installed skill also where its files were changed")
    .option("--acknowledge-install-policy-warning", "install although security.installPolicy warns")
    .option("--json", "for scripts");
