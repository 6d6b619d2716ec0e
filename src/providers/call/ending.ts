import type { AssistantMessage } from "../../types/run/model.ts";

/** How a stream ended that the SDK reports as finished. */
export type StreamEnding = "whole" | "length" | "cut" | { readonly refused: string };

/**
 * Facts that decide how a stream ended: the last bytes from the network, if seen, and whether a block was still open.
 */
interface Left {
  readonly tail: string | undefined;
  readonly isOpen: boolean;
}

type Judge = (message: AssistantMessage, left: Left) => StreamEnding;

const FINISH = /"finish_?reason"\s*:\s*"/i;
const DONE = /(?:^|\n)data:\s*\[DONE\]/;

/** Some local servers send `[DONE]` without a reason. */
const byFinishReason: Judge = (message, { tail }) => {
  if (tail === undefined || FINISH.test(tail)) return "whole";
  return DONE.test(tail) && saysSomething(message) ? "whole" : "cut";
};

/** The SDK ignores `response.incomplete`. */
const byResponseStatus: Judge = (message, { tail }) => {
  if (tail === undefined || message.usage.totalTokens > 0 || /\bresponse\.completed\b/.test(tail)) return "whole";
  if (!/\bresponse\.incomplete\b/.test(tail)) return DONE.test(tail) && saysSomething(message) ? "whole" : "cut";
  return isFiltered(tail) ? FILTERED : "length";
};

const FILTERED: StreamEnding = { refused: "content_filter" };
const isFiltered = (tail = ""): boolean =>
  /\bresponse\.incomplete\b/.test(tail) && /"reason"\s*:\s*"content_filter"/.test(tail);

const byGoogleReason: Judge = (_message, { tail }) => {
  const blocked = /"blockReason"\s*:\s*"(\w+)"/.exec(tail ?? "")?.[1];
  if (blocked !== undefined) return { refused: blocked };
  return tail === undefined || FINISH.test(tail) ? "whole" : "cut";
};

/** The SDK reports a missing `message_stop`, unless the stream never began. */
const byMessageStop: Judge = (message, { tail }) =>
  tail === undefined || saysSomething(message) || tail.includes("message_stop") ? "whole" : "cut";

/** AWS's client does not use `fetch`. Its last event counts the tokens; servers that imitate it may leave the event out. */
const byUsage: Judge = (message, { isOpen }) =>
  message.usage.totalTokens > 0 || (saysSomething(message) && !isOpen) ? "whole" : "cut";

/** How each API shows that an answer is complete. The SDK takes every stream that just stops for complete. */
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

/**
 * Decides how a stream ended. Only `stop` is doubtful, because the SDK assumes it when it got no reason. The SDK reports the
 * content filter of Codex as `length`.
 */
export function streamEndingOf(message: AssistantMessage, left: Left): StreamEnding {
  const isReported = message.stopReason !== "stop";
  if (isReported && message.api === "openai-codex-responses" && isFiltered(left.tail)) return FILTERED;
  return isReported ? "whole" : (JUDGES[message.api]?.(message, left) ?? "whole");
}

/**
 * Reports when the SDK has written the provider's reason into the message of a Bedrock answer, and then its counts:
 * AWS's client does not use `fetch`, and the SDK sends no event for either. After the counts nothing comes.
 */
export function watchBedrock(
  message: AssistantMessage,
  { stopped, counted }: { stopped(reason: AssistantMessage["stopReason"]): void; counted(): void },
): void {
  onWrite(message, "stopReason", stopped);
  onWrite(message.usage, "totalTokens", counted);
}

function onWrite<T extends object, K extends keyof T>(of: T, key: K, written: (value: T[K]) => void): void {
  let value = of[key];
  Object.defineProperty(of, key, {
    configurable: true,
    enumerable: true,
    get: () => value,
    set(next: T[K]) {
      value = next;
      written(next);
    },
  });
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

/** The provider's own word for the reason why it ended the stream. */
export function reasonIn(tail: string): string | undefined {
  return [...tail.matchAll(/"(?:stop_reason|finish_?reason)"\s*:\s*"(\w+)"/gi)].at(-1)?.[1];
}
