import {
  buildMemorySystemPromptAddition,
  delegateCompactionToRuntime,
  type AssembleParams,
  type AssembleResult,
  type ContextEngine,
  type AgentMessage,
} from "openclaw/plugin-sdk/core";

/** Tokens that the messages may fill when the gateway names no budget. */
const DEFAULT_BUDGET = 128_000;

/**
 * Shows the newest turns that fit the budget, each of them whole, and says how many messages are left out. The engine
 * keeps no state of sessions and leaves compaction to the gateway. `maxTokens`: the messages fill at most so many
 * tokens of the budget.
 */
export function createContextWindow(maxTokens = Infinity): ContextEngine {
  return {
    info: { id: "context-window", name: "Context window", version: "1.0.0", ownsCompaction: false },
    // The transcript has every message already.
    ingest: async () => ({ ingested: false }),
    assemble: async (params) => newestThatFit(params, Math.min(params.tokenBudget ?? DEFAULT_BUDGET, maxTokens)),
    compact: (params) => delegateCompactionToRuntime(params),
  };
}

function newestThatFit({ messages, availableTools, citationsMode }: AssembleParams, budget: number): AssembleResult {
  const shown = fitting(wholeTurns(messages), budget);
  const shownMessages = shown.flatMap((turn) => turn.messages);
  const additions = [
    leftOutText(messages.length - shownMessages.length),
    buildMemorySystemPromptAddition({ availableTools: availableTools ?? new Set(), citationsMode }),
  ].filter((text) => text !== undefined);
  return {
    messages: shownMessages,
    estimatedTokens: shown.reduce((sum, turn) => sum + turn.tokens, 0),
    ...(additions.length > 0 && { systemPromptAddition: additions.join("\n\n") }),
  };
}

/** The newest turns within the budget, in their order. The last turn is always among them: the model has to answer it. */
function fitting(turns: readonly Turn[], budget: number): readonly Turn[] {
  let first = turns.length - 1;
  let tokens = turns[first]?.tokens ?? 0;
  for (; first > 0; first--) {
    tokens += turns[first - 1]?.tokens ?? 0;
    if (tokens > budget) break;
  }
  return turns.slice(Math.max(first, 0));
}

const leftOutText = (count: number): string | undefined =>
  count === 0 ? undefined : `${count} earlier messages of this conversation are not shown here.`;

/** Messages that belong together: a user's message and all messages after it, with each tool call and its result. */
interface Turn {
  readonly messages: readonly AgentMessage[];
  /** Estimated. */
  readonly tokens: number;
}

/**
 * Divides a conversation before each message of a user that follows an answer or a result. Several messages of users in
 * a row are one turn, because one answer belongs to all of these messages.
 */
function wholeTurns(messages: readonly AgentMessage[]): readonly Turn[] {
  const starts = messages.flatMap(({ role }, at) =>
    at === 0 || (role === "user" && messages[at - 1]?.role !== "user") ? [at] : [],
  );
  return starts.map((start, index) => {
    const part = messages.slice(start, starts[index + 1]);
    return { messages: part, tokens: part.reduce((sum, message) => sum + tokensOf(message), 0) };
  });
}

const CHARACTERS_PER_TOKEN = 4;
const IMAGE_TOKENS = 1200;

/** A quarter of the characters; a script without spaces, such as Chinese, has about one token for each character. */
function tokensOf({ content }: AgentMessage): number {
  if (typeof content === "string") return textTokens(content);
  return content.reduce((sum, part) => sum + (part.type === "image" ? IMAGE_TOKENS : textTokens(textOf(part))), 0);
}

type Part = Exclude<AgentMessage["content"], string>[number];

function textOf(part: Exclude<Part, { type: "image" }>): string {
  if (part.type === "text") return part.text;
  return part.type === "thinking" ? part.thinking : part.name + JSON.stringify(part.arguments);
}

function textTokens(text: string): number {
  const wide = text.match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu)?.length ?? 0;
  return Math.ceil((text.length - wide) / CHARACTERS_PER_TOKEN) + wide;
}
