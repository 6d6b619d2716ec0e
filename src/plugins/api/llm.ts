import type { LlmCompletion, LlmCompletionRequest } from "../../types/engine/context-engine.ts";
import { isFields } from "../../utils/fields.ts";
import { withSignal } from "./with-signal.ts";
import { objectOf } from "./foreign.ts";
import type { BoundConversation } from "../ports.ts";
import type { PluginScope } from "./scope.ts";

/** `runtime.llm.complete` of a plugin. `bound`: the conversation that it was called in, if any. */
export function completeFor(scope: PluginScope, bound?: BoundConversation) {
  return (given: unknown): Promise<LlmCompletion> =>
    scope.modelCalls.run(async () => {
      const { signal, ...rest } = readCompletion(given);
      const request: LlmCompletionRequest = { ...rest, signal: withSignal(scope.signal, signal) };
      const llm = scope.entry?.llm ?? { allowModelOverride: false };
      return scope.outside(() => scope.ports.complete(request, { plugin: scope.id, llm, ...(bound && { bound }) }));
    });
}

/**
 * Argument of an engine of the plugin: the model calls in its `runtimeContext` count as the plugin's, and end with the
 * plugin.
 */
export function withModelCalls(scope: PluginScope, given: unknown): unknown {
  const context = isFields(given) ? given["runtimeContext"] : undefined;
  const llm = isFields(context) ? context["llm"] : undefined;
  if (!isFields(given) || !isFields(context) || !isFields(llm)) return given;
  const { complete } = llm;
  if (typeof complete !== "function") return given;
  const limited = (request: unknown): Promise<unknown> =>
    scope.modelCalls.run(async () => {
      const { signal, ...rest } = objectOf(request, "llm.complete");
      const asked = { ...rest, signal: withSignal(scope.signal, signal) };
      return scope.outside(() => Reflect.apply(complete, llm, [asked]));
    });
  return { ...given, runtimeContext: { ...context, llm: { ...llm, complete: limited } } };
}

/** Argument of `llm.complete` from a plugin, its messages as texts. Throws a `TypeError`. */
export function readCompletion(given: unknown): LlmCompletionRequest {
  const { messages, ...rest } = objectOf(given, "llm.complete");
  if (!Array.isArray(messages)) throw new TypeError("llm.complete needs the list messages");
  return { ...rest, messages: messages.map(messageOf) };
}

function messageOf(given: unknown): { role: string; content: string } {
  const { role, content } = objectOf(given, "a message of llm.complete");
  return {
    role: typeof role === "string" ? role : "user",
    content: typeof content === "string" ? content : textOf(content),
  };
}

/** A list of text blocks, as some plugins pass it. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content
    .map((block: unknown) => {
      const text = typeof block === "object" && block !== null && "text" in block ? block.text : undefined;
      return typeof text === "string" ? text : "";
    })
    .join("");
}
