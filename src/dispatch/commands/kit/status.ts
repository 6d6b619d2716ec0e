import type { ModelRef } from "../../../types/run/model.ts";
import type { SessionEntry } from "../../../types/session.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { type CommandContext, shownKey } from "./command.ts";
import { engineLines, lastRunLine } from "./last-run.ts";

/** The agent, its model, its cost so far, and current problems. */
export async function statusText({
  ports,
  key,
  isOwner,
}: Pick<CommandContext, "ports" | "key" | "isOwner">): Promise<{ readonly text: string }> {
  const settings = ports.settings();
  const id = settings.agentOf(key);
  const agent = settings.agents.get(id);
  const entry = ports.storage.sessions.peek(key);
  const model = chosenModel(entry) ?? agent?.model.primary ?? (await ports.runs.models.of(id).choose());
  const last = await ports.storage.journal.runs.last(key);
  const lines = [
    `Agent: ${agent?.name ?? id}`,
    `Model: ${model.provider}/${model.id}`,
    `Thinking: ${thinkingOf(entry, agent)}`,
    `Session: ${shownKey(key, ports)}`,
    `Tokens: ${usedTokensText(entry)}`,
    ...(last ? [lastRunLine(last, isOwner), ...engineLines(last, isOwner)] : []),
    ...ports.prompts.statusLines(),
  ];
  return { text: lines.join("\n") };
}

function chosenModel(entry: Readonly<SessionEntry> | undefined): ModelRef | undefined {
  const { providerOverride: provider, modelOverride: id } = entry ?? {};
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

function thinkingOf(entry: Readonly<SessionEntry> | undefined, agent: AgentSettings | undefined): string {
  return entry?.thinkingLevel ?? agent?.thinking ?? "off";
}

/** The tokens of a conversation so far. */
export function usedTokensText(entry: Readonly<SessionEntry> | undefined): string {
  const shown = (tokens: number | undefined) => (tokens ?? 0).toLocaleString("en");
  return `${shown(entry?.inputTokens)} in, ${shown(entry?.outputTokens)} out`;
}
