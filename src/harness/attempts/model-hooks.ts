import { classifyFailure } from "../../providers/failure.ts";
import type { CallFacts } from "../../providers/call.ts";
import type { PiContext } from "../../providers/pi.ts";
import { textOfAnswer } from "../../history/parts.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import { modelName } from "../../types/run/model.ts";
import { addUsage, emptyUsage } from "../../types/run/usage.ts";
import { windowOf } from "../context/budget.ts";
import type { RunRequest } from "../request.ts";
import type { Attempt } from "../run/plan.ts";

interface Call {
  readonly id: string;
  readonly beganAt: number;
}

/** Calls the hooks that watch the model calls of one attempt. Nobody waits for them. */
export class ModelHooks {
  readonly #hooks: BoundHooks;
  readonly #plan: Attempt;
  readonly #request: RunRequest;
  readonly #answers: AssistantMessage[] = [];
  #calls = 0;
  #open: Call | undefined;

  constructor(hooks: BoundHooks, plan: Attempt, request: RunRequest) {
    this.#hooks = hooks;
    this.#plan = plan;
    this.#request = request;
  }

  /** Called when a model is about to be asked. `opening`: the conversation as the attempt began. */
  began(shown: PiContext, opening: readonly ChatMessage[]): void {
    const { runner, context } = this.#hooks;
    this.#calls += 1;
    this.#open = { id: `${this.#request.facts.runId}:${this.#plan.number}:${this.#calls}`, beganAt: performance.now() };
    if (this.#calls === 1 && runner.has("llm_input")) this.#notifyInput(shown, opening);
    if (runner.has("model_call_started")) runner.notify("model_call_started", this.#facts(this.#open), context);
  }

  #notifyInput({ systemPrompt = "", tools = [] }: PiContext, opening: readonly ChatMessage[]): void {
    const { facts, turn } = this.#request;
    const { provider, id } = this.#plan.handle.info;
    const own = opening.findLastIndex(({ role }) => role === "user");
    this.#hooks.runner.notify(
      "llm_input",
      {
        runId: facts.runId,
        sessionId: facts.sessionId,
        provider,
        model: id,
        systemPrompt,
        prompt: turn.text,
        historyMessages: own < 0 ? opening : opening.slice(0, own),
        imagesCount: turn.images.length,
        tools: tools.map(({ name, description }) => ({ name, description })),
      },
      this.#hooks.context,
    );
  }

  /** Called when the model's answer is complete, or broke off. */
  ended(message: AssistantMessage, facts: CallFacts): void {
    this.#answers.push(message);
    const { stopReason, errorMessage = "" } = message;
    if (stopReason === "aborted") return this.#end({ outcome: "error", failureKind: "aborted" });
    if (stopReason !== "error") return this.#end({ outcome: "completed" });
    this.#end({ outcome: "error", errorCategory: classifyFailure(errorMessage, facts).kind });
  }

  /** Called when the attempt is over. */
  close(): void {
    this.#end({ outcome: "error", failureKind: "aborted" });
    const { runner, context } = this.#hooks;
    if (this.#calls === 0 || !runner.has("llm_output")) return;
    const { facts, turn, settings } = this.#request;
    const { info } = this.#plan.handle;
    const usage = this.#answers.reduce((sum, answer) => addUsage(sum, answer.usage), emptyUsage());
    const { input, output, cacheRead, cacheWrite, totalTokens: total } = usage;
    const last = this.#answers.at(-1);
    runner.notify(
      "llm_output",
      {
        runId: facts.runId,
        sessionId: facts.sessionId,
        provider: info.provider,
        model: info.id,
        resolvedRef: modelName(info),
        harnessId: "openclaw",
        contextTokenBudget: windowOf(info, settings),
        prompt: turn.text,
        assistantTexts: this.#answers.map(textOfAnswer).filter((text) => text !== ""),
        ...(last && { lastAssistant: last }),
        usage: { input, output, cacheRead, cacheWrite, total },
      },
      context,
    );
  }

  #end(how: { outcome: "completed" | "error"; errorCategory?: string; failureKind?: "aborted" }): void {
    const call = this.#open;
    this.#open = undefined;
    const { runner, context } = this.#hooks;
    if (!call || !runner.has("model_call_ended")) return;
    const durationMs = performance.now() - call.beganAt;
    runner.notify("model_call_ended", { ...this.#facts(call), durationMs, ...how }, context);
  }

  #facts({ id: callId }: Call) {
    const { facts, settings } = this.#request;
    const { info, pi } = this.#plan.handle;
    const { runId, sessionKey, sessionId } = facts;
    const contextTokenBudget = windowOf(info, settings);
    return {
      runId,
      callId,
      sessionKey,
      sessionId,
      provider: info.provider,
      model: info.id,
      api: pi.api,
      contextTokenBudget,
    };
  }
}
