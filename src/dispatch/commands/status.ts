import type { CommandAnswer, CommandContext } from "./command.ts";

/** What answers here, what it cost so far, and what is wrong. */
export async function statusText(context: CommandContext): Promise<CommandAnswer> {
  const { ports, key } = context;
  const settings = ports.settings();
  const entry = ports.sessions.peek(key);
  const agent = settings.agents.get(settings.agentOf(key));
  const configured = agent?.model.primary ?? (await ports.models.choose());
  const model = {
    provider: entry?.providerOverride ?? configured.provider,
    id: entry?.modelOverride ?? configured.id,
  };
  const lines = [
    `Agent: ${agent?.name ?? settings.agentOf(key)}`,
    `Model: ${model.provider}/${model.id}`,
    `Thinking: ${entry?.thinkingLevel ?? agent?.thinking ?? "off"}`,
    `Session: ${key}`,
    tokensLine(entry?.inputTokens ?? 0, entry?.outputTokens ?? 0, entry?.contextTokens),
    ...ports.statusLines(),
  ];
  return { text: lines.join("\n") };
}

function tokensLine(input: number, output: number, context: number | undefined): string {
  const window = context === undefined ? "" : `, context ${context.toLocaleString("en")}`;
  return `Tokens: ${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out${window}`;
}
