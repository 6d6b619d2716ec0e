import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ChatMessage, ModelRef, UserMessage } from "../../types/run/model.ts";
import { hasCalls, textOfAnswer } from "../../history/parts.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { formatFault } from "../../utils/json-schema/json-answer.ts";
import type { RunRequest } from "../request.ts";

/** The most passes that hooks may ask for in one run, whatever their `maxAttempts`. */
const MOST = 3;

/** The wish of a hook about the answer. */
type Wish =
  | { readonly kind: "final" }
  | { readonly kind: "revise"; readonly key: string; readonly most: number; readonly instruction: string };

/** Passes in which the model mends an answer of another form than the client wished. */
const MOST_MENDED = 2;

/** Whether an answer is final, or what the model is to do about it: by the form that the client wished, then by `before_agent_finalize`. */
export class Revisions {
  readonly #asked = new Map<string, number>();
  #total = 0;
  #mended = 0;

  /** The message that asks the model for another pass; undefined when the answer is final. */
  async after(
    request: RunRequest,
    model: ModelRef,
    messages: readonly ChatMessage[],
    hooks: BoundHooks | undefined,
  ): Promise<UserMessage | undefined> {
    const fault = this.#mended < MOST_MENDED ? faultIn(messages, request) : undefined;
    if (fault === undefined) return this.#ask(request, model, messages, hooks);
    this.#mended += 1;
    return messageOf(`${fault} Write the whole answer again in the form that was asked for.`, "response_format");
  }

  async #ask(
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
    return messageOf(instructions.join("\n\n"), "before_agent_finalize");
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

const messageOf = (text: string, sourceTool: string): UserMessage => ({
  role: "user",
  content: [{ type: "text", text }],
  timestamp: Date.now(),
  steered: true,
  provenance: { kind: "internal_system", sourceTool },
});

/** Why the last answer has not the form that the client wished. A call of the client's has no form. */
function faultIn(
  messages: readonly ChatMessage[],
  { choice: { wish } }: Pick<RunRequest, "choice">,
): string | undefined {
  const last = messages.findLast((message) => message.role !== "user");
  if (!wish?.format || last?.role !== "assistant" || hasCalls(last)) return undefined;
  return formatFault(textOfAnswer(last), wish.format);
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
