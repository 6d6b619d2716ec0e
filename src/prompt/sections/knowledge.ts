import { skillParts } from "../skills/skills.ts";
import { hasTool, section, type SystemContext, type SystemSection } from "../system-context.ts";

export const skills: SystemSection = {
  name: "skills",
  render: (context) =>
    context.skills.length === 0 || !hasTool(context, "read")
      ? undefined
      : skillParts(
          section(
            "## Skills",
            "Look through the descriptions below before you answer. When one clearly fits the request, read its file " +
              "with `read` and follow it; when several fit, take the most specific; when none does, read none. Never " +
              "read more than one before starting. Paths in a skill are relative to its own folder.",
          ),
          context.skills,
        ),
};

export const memory: SystemSection = {
  name: "memory",
  render(context) {
    if (!hasTool(context, "memory_search") && !hasTool(context, "memory_get")) {
      return undefined;
    }
    return section(
      "## Memory Recall",
      "Before you answer about earlier work, decisions, dates, people, preferences or open tasks, look them up with " +
        "`memory_search` and fetch the lines you need with `memory_get`. When that finds nothing, say that you looked.",
    );
  },
};

export const modelAliases: SystemSection = {
  name: "modelAliases",
  source: () => "agents.defaults.models",
  render(context) {
    const aliases = Object.entries(context.modelAliases ?? {}).toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
    return aliases.length === 0
      ? undefined
      : section(
          "## Model Aliases",
          "Name a model by its alias where there is one; `provider/model` works too.",
          ...aliases.map(([alias, model]) => `- ${alias}: ${model}`),
        );
  },
};

/** How the model can find out the time. */
function clockHint(context: SystemContext): string {
  if (hasTool(context, "session_status")) return " If you need the current date, time or weekday, run session_status.";
  const chats = " Messages of chats carry the time they were sent at.";
  return hasTool(context, "exec") ? `${chats} Where one does not, the command \`date\` tells the time.` : chats;
}

export const timeHint: SystemSection = {
  name: "timeHint",
  source: () => "agents.defaults.userTimezone",
  render(context) {
    if (context.timezone === undefined) {
      return undefined;
    }
    const today = context.today === undefined ? "" : ` Today is ${context.today}.`;
    return section("## Current Date & Time", `Time zone: ${context.timezone}.${today}${clockHint(context)}`);
  },
};
