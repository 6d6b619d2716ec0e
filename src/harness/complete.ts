import { textOfAnswer } from "../history/parts.ts";
import { callModel } from "../providers/call.ts";
import type { ModelHandle, Models } from "../providers/catalog.ts";
import type { LlmCompletion, LlmCompletionRequest } from "../types/engine/context-engine.ts";
import type { ChatMessage, ModelRef } from "../types/run/model.ts";
import type { CallOrigin } from "../types/run/model-meter.ts";
import type { SideCost } from "../types/run/run.ts";
import { emptyUsage, hasTokens } from "../types/run/usage.ts";

export interface CompletionPorts {
  readonly models: Models;
  /** The models, in the order in which they are asked. */
  readonly candidates: readonly ModelRef[];
  /** Milliseconds of silence after which a call has stalled. */
  readonly idleMs: number;
  /** The origin of the model calls. */
  readonly origin: CallOrigin;
  /** Called with the tokens of each call, also of a call that failed. Must not throw. */
  spent?(cost: SideCost): void;
}

/** Makes one model call in an agent's name, for a plugin. Rejects with the provider's error. */
export async function complete(request: LlmCompletionRequest, ports: CompletionPorts): Promise<LlmCompletion> {
  const { models, candidates } = ports;
  let failure = "No model is configured.";
  for (const ref of candidates) {
    const handle = await models.find(ref);
    if ("missing" in handle) {
      failure = handle.missing;
      continue;
    }
    const said = await ask(handle, request, ports);
    if (typeof said !== "string") return said;
    failure = said;
    if (request.signal?.aborted === true) break;
  }
  throw new Error(failure);
}

async function ask(
  handle: ModelHandle,
  request: LlmCompletionRequest,
  { idleMs, origin, spent }: CompletionPorts,
): Promise<LlmCompletion | string> {
  const { messages, systemPrompt = "", maxTokens, temperature, signal } = request;
  const { info } = handle;
  const instructions = messages.flatMap(({ role, content }) => (role === "system" ? [content] : []));
  const context = {
    systemPrompt: [systemPrompt, ...instructions].filter((text) => text !== "").join("\n\n"),
    messages: messages.flatMap((said) => (said.role === "system" ? [] : [messageOf(said, handle)])),
  };
  const model = { provider: info.provider, id: info.id };
  const what = origin.cause === "plugin" ? "plugin" : "engine";
  const by = origin.plugin === undefined ? {} : { plugin: origin.plugin };
  const message = await callModel(handle, context, {
    origin,
    idleMs,
    maxTokens: Math.min(info.maxTokens, maxTokens ?? info.maxTokens),
    ...(temperature !== undefined && { temperature }),
    ...(signal && { signal }),
    onSettled: ({ usage }) => hasTokens(usage) && spent?.({ what, ...by, model, calls: 1, usage }),
  }).result();
  const { usage } = message;
  if (message.stopReason === "error" || message.stopReason === "aborted")
    return message.errorMessage ?? message.stopReason;
  const { input, output, cacheRead, cacheWrite, totalTokens: total } = usage;
  return {
    text: textOfAnswer(message),
    provider: info.provider,
    model: info.id,
    ...(request.agentId !== undefined && { agentId: request.agentId }),
    usage: { input, output, cacheRead, cacheWrite, total },
  };
}

/** A message of a request; of an assistant's message, only the text is known. */
function messageOf({ role, content }: LlmCompletionRequest["messages"][number], { pi }: ModelHandle): ChatMessage {
  if (role !== "assistant") return { role: "user", content, timestamp: 0 };
  return {
    role,
    content: [{ type: "text", text: content }],
    api: pi.api,
    provider: pi.provider,
    model: pi.id,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
}
