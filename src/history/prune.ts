import type { AssistantMessage, ChatMessage, TextContent, ToolResultMessage } from "../types/run/model.ts";
import type { PruneRules } from "../types/settings.ts";
import { mapSame } from "./parts.ts";

/** The usual defaults of gateways with this config. */
export const PRUNE_DEFAULTS: PruneRules = {
  ttlMs: 300_000,
  keepLastAssistants: 3,
  softTrimRatio: 0.3,
  hardClearRatio: 0.5,
  minPrunableToolChars: 50_000,
  softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
  hardClear: { enabled: true, placeholder: "[compacted: tool output removed to free context]" },
  tools: { allow: [], deny: ["memory_*"] },
};

export type PruneMode = "trimmed" | "cleared";

/** The results that were pruned so far, which stay pruned. Plain data. */
export interface Pruned {
  /** Epoch milliseconds of the last request. */
  readonly touchedAt: number;
  /** Cuts by the id of the tool result. */
  readonly cuts: Readonly<Record<string, PruneMode>>;
}

export interface PruneInput {
  readonly messages: readonly ChatMessage[];
  /** Tokens. */
  readonly contextWindow: number;
  readonly past: Pruned;
  readonly now: number;
}

/**
 * Prunes old tool results: shortens or clears them. Chooses further results only when the provider has forgotten the last
 * request; until then it changes the same results in the same way, byte for byte. Pass `pruned` as the next `past`.
 */
export function prune(
  { messages, contextWindow, past, now }: PruneInput,
  rules: PruneRules,
): { readonly messages: readonly ChatMessage[]; readonly pruned: Pruned } {
  const forgotten = now - past.touchedAt > rules.ttlMs;
  const cuts = forgotten ? choose(messages, contextWindow * CHARS_PER_TOKEN, past.cuts, rules) : past.cuts;
  return { messages: applyCuts(messages, cuts, rules), pruned: { touchedAt: now, cuts } };
}

const CHARS_PER_TOKEN = 4;
/** The characters for which an image counts. */
const IMAGE_CHARS = 8000;

function choose(
  messages: readonly ChatMessage[],
  windowChars: number,
  past: Pruned["cuts"],
  rules: PruneRules,
): Pruned["cuts"] {
  const cuts = new Map(Object.entries(past));
  const prunable = prunableOf(messages, rules);
  const now = (): number => sum(applyCuts(messages, Object.fromEntries(cuts), rules).map(charsOf));
  if (prunable.length === 0 || now() < windowChars * rules.softTrimRatio) return past;
  for (const one of prunable)
    if (charsOf(one) > rules.softTrim.maxChars && !cuts.has(keyOf(one))) cuts.set(keyOf(one), "trimmed");
  if (!rules.hardClear.enabled || sum(prunable.map(charsOf)) < rules.minPrunableToolChars)
    return Object.fromEntries(cuts);
  let over = now() - windowChars * rules.hardClearRatio;
  for (const one of prunable) {
    if (over <= 0) break;
    const gain = charsOf(cutOne(one, cuts.get(keyOf(one)), rules)) - rules.hardClear.placeholder.length;
    if (gain <= 0) continue;
    cuts.set(keyOf(one), "cleared");
    over -= gain;
  }
  return Object.fromEntries(cuts);
}

/** The results of prunable tools without images that lie between the first user turn and the last answers. */
function prunableOf(messages: readonly ChatMessage[], rules: PruneRules): ToolResultMessage[] {
  const first = messages.findIndex((message) => message.role === "user");
  const answers = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  const end = rules.keepLastAssistants === 0 ? messages.length : (answers.at(-rules.keepLastAssistants) ?? 0);
  if (first === -1 || end <= first) return [];
  return messages.slice(first, end).flatMap((message) => {
    if (message.role !== "toolResult" || message.content.some((part) => part.type === "image")) return [];
    return mayPrune(message.toolName, rules.tools) ? [message] : [];
  });
}

function mayPrune(name: string, { allow, deny }: PruneRules["tools"]): boolean {
  const named = (pattern: string): boolean => patternOf(pattern).test(name);
  return !deny.some(named) && (allow.length === 0 || allow.some(named));
}

const patternOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(/[^\w*]/g, "\\$&").replaceAll("*", ".*")}$`, "i");

/** Ids of calls may occur again, so a result is identified by its time too. */
const keyOf = ({ toolCallId, timestamp }: ToolResultMessage): string => `${toolCallId}@${timestamp}`;

/** The messages with these results pruned; the same array when it contains none of the results. */
export function applyCuts(
  messages: readonly ChatMessage[],
  cuts: Pruned["cuts"],
  rules: PruneRules,
): readonly ChatMessage[] {
  return mapSame(messages, (message) =>
    message.role === "toolResult" ? cutOne(message, cuts[keyOf(message)], rules) : message,
  );
}

function cutOne(message: ToolResultMessage, cut: PruneMode | undefined, rules: PruneRules): ToolResultMessage {
  if (cut === undefined) return message;
  const text = cut === "cleared" ? rules.hardClear.placeholder : trimmed(textIn(message), rules.softTrim);
  return { ...message, content: [{ type: "text", text }] };
}

const textIn = ({ content }: ToolResultMessage): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

function trimmed(text: string, { headChars, tailChars }: PruneRules["softTrim"]): string {
  if (text.length <= headChars + tailChars) return text;
  // A surrogate pair is never separated.
  const head = text.slice(0, headChars).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - tailChars).replace(/^[\udc00-\udfff]/, "");
  const note = `[Tool result trimmed: kept first ${headChars} chars and last ${tailChars} chars of ${text.length} chars.]`;
  return `${head}\n...\n${tail}\n\n${note}`;
}

function charsOf(message: ChatMessage): number {
  if (typeof message.content === "string") return message.content.length;
  return message.role === "assistant" ? answerChars(message) : sum(message.content.map(partChars));
}

const partChars = (part: TextContent | { type: "image" }): number =>
  part.type === "text" ? part.text.length : IMAGE_CHARS;

const answerChars = ({ content }: AssistantMessage): number =>
  sum(
    content.map((part) => {
      if (part.type === "text") return part.text.length;
      return part.type === "thinking" ? part.thinking.length : JSON.stringify(part.arguments).length;
    }),
  );

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
