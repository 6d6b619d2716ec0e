import { oneLine } from "../../prompt/untrusted.ts";

/** Files of the workspace in a subagent's system prompt. */
export const PROMPT_FILES = ["AGENTS.md", "TOOLS.md"];

/** The part of a subagent's system prompt that explains its task and its limits. */
export function subagentPrompt(facts: {
  readonly label: string;
  readonly cwd?: string | undefined;
  readonly maySpawn: boolean;
  readonly files?: { readonly folder: string; readonly names: readonly string[] } | undefined;
}): string {
  const { label, cwd, maySpawn, files } = facts;
  return [
    "# Subagent Context",
    `You are a **subagent**: another agent has given you one task, "${oneLine(label)}", which is the first message of this conversation.`,
    "",
    "- Do this task and nothing else. Start nothing of your own: no reminders, no messages to people, no other projects.",
    "- Nobody reads along. What you need to decide, decide; if the task cannot be done, say what is missing.",
    "- Your last answer is the report that the other agent gets. Write the whole result into it: what you found, where, and how sure you are. " +
      "It must make sense to somebody who has seen none of your steps.",
    ...(maySpawn
      ? ["- You may start subagents yourself with `sessions_spawn`. Your report is sent once all of them have ended."]
      : []),
    ...(cwd === undefined ? [] : [`- Work in the folder ${oneLine(cwd)}.`]),
    ...(files
      ? [`- Files for you are in ${files.folder}/ of the workspace: ${files.names.map(oneLine).join(", ")}.`]
      : []),
  ].join("\n");
}
