import type { Clock } from "../../types/clock.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { ClientAnswer } from "./answer.ts";
import { badRequest, type ApiError } from "./errors.ts";
import type { AnswerOrder } from "./start.ts";

/** Milliseconds for which a response can be continued. */
const KEPT_MS = 60 * 60_000;
/** Characters of the messages of all responses that can be continued. */
const MOST_KEPT = 64_000_000;

interface StoredResponse {
  readonly agent: AnswerOrder["agent"];
  /** The conversation of the gateway that has the response; unset when only the client and this store have it. */
  readonly place?: AnswerOrder["place"];
  readonly messages: readonly ChatMessage[];
  readonly size: number;
  readonly until: number;
}

/** The responses that a request can continue by their ids. They are in memory: a restart of the gateway forgets them. */
export class StoredResponses {
  readonly #kept = new Map<string, StoredResponse>();
  readonly #clock: Pick<Clock, "now">;
  #size = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Keeps a response with what was said before it. */
  keep(id: string, order: AnswerOrder, end: Extract<ClientAnswer, { kind: "done" }>): void {
    const { agent, place } = order;
    const now = this.#clock.now();
    const messages = place ? [] : [...said(order, now), answerOf(end, now)];
    const size = messages.reduce((sum, message) => sum + sizeOf(message), id.length);
    this.#kept.set(id, { agent, ...(place && { place }), messages, size, until: now + KEPT_MS });
    this.#size += size;
    for (const [oldest, { until }] of this.#kept) {
      if (oldest === id || (this.#size <= MOST_KEPT && until > now)) break;
      this.#forget(oldest);
    }
  }

  /** The order that continues a response: in its conversation, or after its messages. */
  continued(order: AnswerOrder, previous: string): AnswerOrder | ApiError {
    const found = this.#kept.get(previous);
    if (!found || found.until <= this.#clock.now()) return unknownResponse(previous);
    const isSame = found.agent === order.agent && (!order.place || order.place.key === found.place?.key);
    if (!isSame) return badRequest("previous_response_id is of another agent or conversation", "previous_response_id");
    const { conversation } = order;
    return {
      ...order,
      ...(found.place && { place: found.place }),
      conversation: { ...conversation, ...continuedBy(found.messages, conversation) },
    };
  }

  #forget(id: string): void {
    this.#size -= this.#kept.get(id)?.size ?? 0;
    this.#kept.delete(id);
  }
}

/** The messages after an earlier response; results of its calls know their tools by it. */
function continuedBy(earlier: readonly ChatMessage[], { before, results }: AnswerOrder["conversation"]) {
  const names = new Map(
    earlier.flatMap((message) =>
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "toolCall" ? [[part.id, part.name] as const] : []))
        : [],
    ),
  );
  const named = results.map((result) => ({ ...result, toolName: names.get(result.toolCallId) ?? result.toolName }));
  return { before: [...earlier, ...before], results: named };
}

function said(
  { conversation: { before, results, text, images } }: AnswerOrder,
  timestamp: number,
): readonly ChatMessage[] {
  const content = [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images];
  return [...before, ...results, ...(content.length > 0 ? [{ role: "user" as const, content, timestamp }] : [])];
}

const answerOf = ({ text, calls }: Extract<ClientAnswer, { kind: "done" }>, timestamp: number): ChatMessage => ({
  role: "assistant",
  content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
  api: "openai-completions",
  provider: "openclaw",
  model: "openclaw",
  usage: emptyUsage(),
  stopReason: calls.length > 0 ? "toolUse" : "stop",
  timestamp,
});

const sizeOf = ({ content }: ChatMessage): number =>
  typeof content === "string" ? content.length : JSON.stringify(content).length;

const unknownResponse = (id: string): ApiError => ({
  status: 400,
  message: `Previous response with id '${id}' not found. The gateway keeps responses for an hour, and none over a restart.`,
  type: "invalid_request_error",
  code: "previous_response_not_found",
  param: "previous_response_id",
});
