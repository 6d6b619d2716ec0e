import type { AssistantMessage } from "../../types/run/model.ts";

/** How a stream that the SDK takes for finished really ended. */
export type Ending = "whole" | "length" | "cut" | { readonly refused: string };

/** The end of a stream: the last bytes of the wire, where they were seen, and whether a block was still open. */
interface Left {
  readonly tail: string | undefined;
  readonly isOpen: boolean;
}

type Judge = (message: AssistantMessage, left: Left) => Ending;

const FINISH = /"finish_?reason"\s*:\s*"/i;
const DONE = /(?:^|\n)data:\s*\[DONE\]/;

/** Some local servers say `[DONE]` and no reason. */
const byFinishReason: Judge = (message, { tail }) => {
  if (tail === undefined || FINISH.test(tail)) return "whole";
  return DONE.test(tail) && saysSomething(message) ? "whole" : "cut";
};

/** The SDK overlooks `response.incomplete`. */
const byResponseStatus: Judge = (message, { tail }) => {
  if (tail === undefined || message.usage.totalTokens > 0 || /\bresponse\.completed\b/.test(tail)) return "whole";
  if (!/\bresponse\.incomplete\b/.test(tail)) return DONE.test(tail) && saysSomething(message) ? "whole" : "cut";
  return isFiltered(tail) ? FILTERED : "length";
};

const FILTERED: Ending = { refused: "content_filter" };
const isFiltered = (tail = ""): boolean =>
  /\bresponse\.incomplete\b/.test(tail) && /"reason"\s*:\s*"content_filter"/.test(tail);

const byGoogleReason: Judge = (_message, { tail }) => {
  const blocked = /"blockReason"\s*:\s*"(\w+)"/.exec(tail ?? "")?.[1];
  if (blocked !== undefined) return { refused: blocked };
  return tail === undefined || FINISH.test(tail) ? "whole" : "cut";
};

/** The SDK sees that `message_stop` is missing, unless the stream never began. */
const byMessageStop: Judge = (message, { tail }) =>
  tail === undefined || saysSomething(message) || tail.includes("message_stop") ? "whole" : "cut";

/** AWS's client does not use `fetch`; its last event counts the tokens, which imitations may leave out. */
const byUsage: Judge = (message, { isOpen }) =>
  message.usage.totalTokens > 0 || (saysSomething(message) && !isOpen) ? "whole" : "cut";

/** How each API shows that an answer is finished; in the SDK's eyes every stream that just stops is. */
const JUDGES: Readonly<Record<string, Judge>> = {
  "openai-completions": byFinishReason,
  "mistral-conversations": byFinishReason,
  "openai-responses": byResponseStatus,
  "azure-openai-responses": byResponseStatus,
  "openai-codex-responses": byResponseStatus,
  "anthropic-messages": byMessageStop,
  "google-generative-ai": byGoogleReason,
  "google-vertex": byGoogleReason,
  "bedrock-converse-stream": byUsage,
};

/** Decides how a stream ended. The SDK assumes `stop` when it got no reason, so only `stop` is checked; the filter of Codex it reports as `length`. */
export function endingOf(message: AssistantMessage, left: Left): Ending {
  const isTold = message.stopReason !== "stop";
  if (isTold && message.api === "openai-codex-responses" && isFiltered(left.tail)) return FILTERED;
  return isTold ? "whole" : (JUDGES[message.api]?.(message, left) ?? "whole");
}

/**
 * Whether the window was full before the answer. Some servers cut the input to the window, which leaves nothing for an answer:
 * it then ends with the reason `length` and has no text.
 */
export function isWindowFull({ stopReason, usage }: AssistantMessage, window: number): boolean {
  return stopReason === "length" && usage.output === 0 && usage.input + usage.cacheRead >= window * ALMOST;
}

const ALMOST = 0.99;

function saysSomething({ content }: AssistantMessage): boolean {
  return content.some((block) => block.type === "toolCall" || (block.type === "text" && block.text !== ""));
}

/** The reason of a stream that the provider ended itself, in its own word. */
export function reasonIn(tail: string): string | undefined {
  return [...tail.matchAll(/"(?:stop_reason|finish_?reason)"\s*:\s*"(\w+)"/gi)].at(-1)?.[1];
}
