import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ChatMessage, ModelRef, UserMessage } from "../../types/run/model.ts";
import { textOfAnswer } from "../../history/parts.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import type { RunRequest } from "../request.ts";

/** The most passes that hooks may ask for in one run, whatever their `maxAttempts`. */
const MOST = 3;

/** The wish of a hook about the answer. */
type Wish =
  | { readonly kind: "final" }
  | { readonly kind: "revise"; readonly key: string; readonly most: number; readonly instruction: string };

/** Asks `before_agent_finalize` whether an answer is final, or what the model is to do about it. */
export class Revisions {
  readonly #asked = new Map<string, number>();
  #total = 0;

  /** The message that asks the model for another pass; undefined when the answer is final. */
  async after(
    { facts, settings }: RunRequest,
    model: ModelRef,
    messages: readonly ChatMessage[],
    hooks: BoundHooks | undefined,
  ): Promise<UserMessage | undefined> {
    if (hooks?.runner.has("before_agent_finalize") !== true || this.#total >= MOST) return undefined;
    const last = messages.findLast((message) => message.role === "assistant");
    const event = {
      runId: facts.runId,
      sessionId: facts.sessionId,
      sessionKey: facts.sessionKey,
      provider: model.provider,
      model: model.id,
      cwd: settings.workspace,
      stopHookActive: this.#total > 0,
      lastAssistantMessage: last ? textOfAnswer(last) : "",
      messages,
    };
    const call = { name: "before_agent_finalize" as const, event, context: hooks.context };
    const instructions = this.#instructionsIn(await hooks.runner.ask(call, wishIn));
    if (instructions.length === 0) return undefined;
    this.#total += 1;
    const content = [{ type: "text" as const, text: instructions.join("\n\n") }];
    const provenance = { kind: "internal_system" as const, sourceTool: "before_agent_finalize" };
    return { role: "user", content, timestamp: Date.now(), steered: true, provenance };
  }

  #instructionsIn(wishes: readonly Wish[]): readonly string[] {
    if (wishes.some(({ kind }) => kind === "final")) return [];
    return wishes.flatMap((wish) => {
      if (wish.kind === "final") return [];
      const before = this.#asked.get(wish.key) ?? 0;
      if (before >= wish.most) return [];
      this.#asked.set(wish.key, before + 1);
      return [wish.instruction];
    });
  }
}

/**
 * The wish in a hook's answer: `{action: "revise", reason, retry: {instruction, idempotencyKey, maxAttempts}}` or
 * `{action: "finalize"}`.
 */
function wishIn(answer: unknown): Wish | undefined {
  if (!isFields(answer)) return undefined;
  if (answer["action"] === "finalize") return { kind: "final" };
  if (answer["action"] !== "revise") return undefined;
  const retry: Fields = isFields(answer["retry"]) ? answer["retry"] : {};
  const instruction = [retry["instruction"], answer["reason"]].find((text) => typeof text === "string" && text !== "");
  if (typeof instruction !== "string") return undefined;
  const { idempotencyKey: key, maxAttempts: most } = retry;
  return {
    kind: "revise",
    instruction,
    key: typeof key === "string" ? key : instruction,
    most: typeof most === "number" ? most : 1,
  };
}
