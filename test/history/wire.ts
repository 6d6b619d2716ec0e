import { type Api, type Context, type Model, type ThinkingLevel, type Tool, Type } from "@mariozechner/pi-ai";
import { Worker } from "node:worker_threads";
import type { Captured, Order } from "./capture.ts";
import type { ChatMessage } from "../../src/types/run/model.ts";
import { bedrockFaults } from "./validators/bedrock.ts";
import { mistralFaults } from "./validators/mistral.ts";
import { anthropicFaults } from "./validators/anthropic.ts";
import { gemini3Faults, geminiFaults } from "./validators/gemini.ts";
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
  { model: model("google-generative-ai", "google", "gemini-3-pro-preview"), faults: gemini3Faults },
  {
    model: model("bedrock-converse-stream", "amazon-bedrock", "us.anthropic.claude-sonnet-4-5-v1:0"),
    faults: bedrockFaults,
  },
  { model: model("mistral-conversations", "mistral", "mistral-large-latest"), faults: mistralFaults },
];

const TOOL: Tool = { name: "read", description: "Reads.", parameters: Type.Object({ path: Type.String() }) };

export interface Asked {
  readonly reasoning?: ThinkingLevel | undefined;
  /** The request offers a tool; it does unless told. */
  readonly tools?: boolean;
}

/** What the SDK would send; nothing is sent. */
export async function requestOf(
  to: Model<Api>,
  messages: readonly ChatMessage[],
  { reasoning, tools = true }: Asked = {},
): Promise<Json> {
  const context: Context = { systemPrompt: "You are a test.", messages: [...messages], tools: tools ? [TOOL] : [] };
  const options = { apiKey: "key", maxRetries: 0, ...(reasoning && { reasoning }) };
  const captured = await sdk.ask({ model: to, context, options });
  if ("failure" in captured) throw new Error(captured.failure);
  if (!isObject(captured.request)) throw new Error("nothing sent");
  return captured.request;
}

/**
 * The SDK on a thread without the tests' resolve conditions: with them its clients for Bedrock and Mistral do not load.
 * Answers come in the order of the questions.
 */
class Sdk {
  #worker: Worker | undefined;
  readonly #waiting: PromiseWithResolvers<Captured>[] = [];

  ask(order: Order): Promise<Captured> {
    const answer = Promise.withResolvers<Captured>();
    this.#waiting.push(answer);
    this.#started().postMessage(order);
    return answer.promise;
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(new URL("capture.ts", import.meta.url), { execArgv: [] });
    worker.on("message", (captured: Captured) => this.#waiting.shift()?.resolve(captured));
    worker.on("error", (error) => this.#waiting.shift()?.reject(error));
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}

const sdk = new Sdk();
