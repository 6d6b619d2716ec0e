import { type Api, type Context, type Model, streamSimple, type ThinkingLevel } from "@mariozechner/pi-ai";
import type { ChatMessage } from "../../src/types/model.ts";
import { anthropicFaults } from "./validators/anthropic.ts";
import { geminiFaults } from "./validators/gemini.ts";
import { openaiChatFaults } from "./validators/openai-chat.ts";
import { openaiResponsesFaults } from "./validators/openai-responses.ts";
import { type Faults, isObject, type Json } from "./validators/rules.ts";

export interface Wire {
  readonly model: Model<Api>;
  readonly faults: (request: Json) => Faults;
}

const model = (api: Api, provider: string, id: string): Model<Api> => ({
  api,
  provider,
  id,
  name: id,
  baseUrl: "http://127.0.0.1:9",
  reasoning: true,
  input: ["text", "image"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 200_000,
  maxTokens: 32_000,
});

export const WIRES: readonly Wire[] = [
  { model: model("anthropic-messages", "anthropic", "claude-sonnet-4-5"), faults: anthropicFaults },
  { model: model("openai-completions", "openai", "gpt-4.1"), faults: openaiChatFaults },
  { model: model("openai-responses", "openai", "gpt-5"), faults: openaiResponsesFaults },
  { model: model("google-generative-ai", "google", "gemini-2.5-pro"), faults: geminiFaults },
];

const CAPTURED = "captured";

/** What the SDK would send; nothing is sent. */
export async function requestOf(
  to: Model<Api>,
  messages: readonly ChatMessage[],
  reasoning?: ThinkingLevel,
): Promise<Json> {
  let request: unknown;
  const context: Context = { systemPrompt: "You are a test.", messages: [...messages], tools: [] };
  const stream = streamSimple(to, context, {
    apiKey: "key",
    maxRetries: 0,
    ...(reasoning && { reasoning }),
    onPayload: (payload) => {
      request = payload;
      throw new Error(CAPTURED);
    },
  });
  const { errorMessage } = await stream.result();
  if (!isObject(request) || errorMessage?.includes(CAPTURED) !== true) throw new Error(errorMessage ?? "nothing sent");
  return request;
}
