import { readAudit, sectionsReminder } from "../../prompt/after-compaction.ts";
import { contextLimits, isConfined, loadContextFiles } from "../../prompt/bootstrap.ts";
import type { AgentSettings } from "../../types/settings.ts";

const DEFAULT_REMINDER_CHARS = 3000;

/** What the next turn is reminded of after a compaction: sections of the rules, and files that it read and no longer sees. */
export async function reminders(
  { workspace, compaction, prompt, sandbox }: AgentSettings,
  lost: readonly string[],
): Promise<readonly string[]> {
  const whole = await loadContextFiles(workspace, {
    maxChars: Infinity,
    totalMaxChars: Infinity,
    ...isConfined(sandbox),
  });
  const rules = whole.find(({ path }) => path === "AGENTS.md" || path === "CLAUDE.md")?.content;
  const limits = contextLimits({ prompt, ...(sandbox && { sandbox }) });
  const inPrompt = prompt.override === undefined ? await loadContextFiles(workspace, limits) : [];
  const { sections = [], sectionsMaxChars = DEFAULT_REMINDER_CHARS } = compaction ?? {};
  const texts = [
    sectionsReminder(rules, { sections, maxChars: sectionsMaxChars }),
    readAudit(lost, { workspace, inPrompt: inPrompt.map(({ path }) => path) }),
  ];
  return texts.filter((text) => text !== undefined);
}
