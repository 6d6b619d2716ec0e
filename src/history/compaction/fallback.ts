import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { renderedText } from "./render.ts";

const USER_CHARS = 400;
const ANSWER_CHARS = 200;
/** UTF-16 units of the earlier summary for each token: fewer than one, so that the lines get a part even at one token per unit. */
const EARLIER_CHARS_PER_TOKEN = 0.8;

/**
 * A summary that needs no model: the newest lines of the conversation that fit into `mostTokens`, shortened, without the results
 * of tools. It says how many lines are left out.
 */
export function listConversation(
  messages: readonly ChatMessage[],
  { earlier, mostTokens }: { readonly earlier?: string | undefined; readonly mostTokens: number },
): string {
  const head = earlier === undefined ? [] : [shorten(earlier, Math.floor(mostTokens * EARLIER_CHARS_PER_TOKEN)), ""];
  const lines = messages.flatMap(lineOf);
  let tokensLeft = mostTokens - estimateTextTokens(head.join("\n"));
  const kept: string[] = [];
  for (const line of lines.toReversed()) {
    tokensLeft -= estimateTextTokens(line) + 1;
    if (tokensLeft < 0) break;
    kept.unshift(line);
  }
  const left = lines.length - kept.length;
  const note = left === 0 ? [] : [`(${left} earlier lines are left out.)`];
  return [...head, LISTED, ...note, ...kept].join("\n");
}

const LISTED = "What was said, shortened; the results of tools are left out:";

/** Whether a summary is such a list, or has one in it. */
export const isListSummary = (summary: string): boolean => summary.includes(LISTED);

function lineOf(message: ChatMessage): string[] {
  const text = renderedText(message).replace(/\s+/g, " ").trim();
  if (message.role === "user") return text === "" ? [] : [`- User: ${shorten(text, USER_CHARS)}`];
  if (message.role === "toolResult") return [];
  const tools = message.content.flatMap((part) => (part.type === "toolCall" ? [part.name] : []));
  const used = tools.length === 0 ? [] : [`- Assistant used ${[...new Set(tools)].join(", ")}.`];
  return [...(text === "" ? [] : [`- Assistant: ${shorten(text, ANSWER_CHARS)}`]), ...used];
}
