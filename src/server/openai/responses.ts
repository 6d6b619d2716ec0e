import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RunStream } from "../../types/run/events.ts";
import type { ToolCallContent, Usage } from "../../types/run/model.ts";
import type { OpenAiOptions } from "../options.ts";
import { disconnectSignal } from "../transport/disconnect.ts";
import { readClientAnswer, type ClientAnswer } from "./answer.ts";
import { FAILED, sendError, stopped, type ApiError } from "./errors.ts";
import { EventWriter } from "./event-writer.ts";
import { isApiError } from "./request.ts";
import { readResponseBody, type ResponseAsked } from "./responses-request.ts";
import type { StoredResponses } from "./stored-responses.ts";
import { orderOf, startAnswer, type AnswerOrder, type StartPorts } from "./start.ts";

type Done = Extract<ClientAnswer, { kind: "done" }>;

interface ResponseParts {
  readonly options: OpenAiOptions;
  readonly ports: StartPorts;
  readonly stored: StoredResponses;
}

/** Answers `POST /v1/responses`: starts a run, and sends its answer as one response or as a stream of events. */
export async function answerResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ResponseParts,
): Promise<unknown> {
  const { options, ports, stored } = parts;
  const asked = readResponseBody(request.body);
  if (isApiError(asked)) return sendError(reply, asked);
  const own = await orderOf(request, asked, options, ports);
  if (isApiError(own)) return sendError(reply, own);
  const order = asked.previous === undefined ? own : stored.continued(own, asked.previous);
  if (isApiError(order)) return sendError(reply, order);
  const stream = await startAnswer(order, ports, disconnectSignal(reply.raw));
  if (stream === undefined) return sendError(reply, stopped("the run did not begin"));
  const response = new Response(asked, Math.floor(ports.clock.now() / 1000));
  const keep = (end: Done) => void (asked.isStored && stored.keep(response.id, order, end));
  if (asked.isStream) return streamResponse(stream, { response, reply, asked, ports, keep });
  const end = await readClientAnswer(stream, asked, async () => undefined);
  if (end.kind === "failed") return sendError(reply, end.error);
  keep(end);
  return reply.send(response.whole(end));
}

interface StreamContext {
  readonly response: Response;
  readonly reply: FastifyReply;
  readonly asked: ResponseAsked;
  readonly ports: Pick<StartPorts, "clock" | "log">;
  keep(end: Done): void;
}

async function streamResponse(stream: RunStream, context: StreamContext): Promise<void> {
  const { response, reply, asked, ports, keep } = context;
  const writer = new EventWriter(reply, response, ports.clock);
  try {
    const end = await readClientAnswer(stream, asked, async (text) => {
      if (text !== "") await writer.send(...response.delta(text));
    });
    if (end.kind === "failed") return writer.fail(end.error);
    // The client may continue the response as soon as it has the last event.
    keep(end);
    await writer.finish(...response.end(end));
  } catch (error) {
    ports.log.error("streaming failed", { run: stream.facts.runId, error });
    writer.fail(FAILED);
  } finally {
    writer.stop();
  }
}

/** A response and the events that tell how it comes about. */
class Response {
  readonly id = `resp_${randomUUID().replaceAll("-", "")}`;
  readonly #messageId = `msg_${randomUUID().replaceAll("-", "")}`;
  readonly #asked: ResponseAsked;
  readonly #createdAt: number;
  #seq = 0;
  #text = "";
  #isTextBegun = false;

  constructor(asked: ResponseAsked, createdAt: number) {
    this.#asked = asked;
    this.#createdAt = createdAt;
  }

  whole(end: Done): object {
    const isCut = end.finish === "length";
    return this.#object(statusOf(end), {
      output: [...(end.text === "" ? [] : [this.#message(end.text, "completed")]), ...end.calls.map(callItem)],
      usage: usageOf(end.usage),
      ...(isCut && { incomplete_details: { reason: "max_output_tokens" } }),
    });
  }

  begin(): readonly object[] {
    const response = this.#object("in_progress", {});
    return [event("response.created", { response }), event("response.in_progress", { response })];
  }

  delta(text: string): readonly object[] {
    const begun = this.#isTextBegun ? [] : this.#beginText();
    this.#text += text;
    return [...begun, event("response.output_text.delta", { ...this.#place(), delta: text, logprobs: [] })];
  }

  end(end: Done): readonly object[] {
    const events = this.#isTextBegun ? [...this.#endText()] : [];
    const first = this.#isTextBegun ? 1 : 0;
    for (const [at, call] of end.calls.entries()) events.push(...this.#call(call, first + at));
    const response = this.whole(end);
    return [...events, event(`response.${statusOf(end)}`, { response })];
  }

  failure({ message, code }: ApiError): readonly object[] {
    const response = this.#object("failed", { error: { code: code ?? "server_error", message } });
    return [event("response.failed", { response })];
  }

  #beginText(): readonly object[] {
    this.#isTextBegun = true;
    const item = { ...this.#message("", "in_progress"), content: [] };
    return [
      event("response.output_item.added", { output_index: 0, item }),
      event("response.content_part.added", { ...this.#place(), part: textPart("") }),
    ];
  }

  #endText(): readonly object[] {
    return [
      event("response.output_text.done", { ...this.#place(), text: this.#text, logprobs: [] }),
      event("response.content_part.done", { ...this.#place(), part: textPart(this.#text) }),
      event("response.output_item.done", { output_index: 0, item: this.#message(this.#text, "completed") }),
    ];
  }

  #call(call: ToolCallContent, output_index: number): readonly object[] {
    const item = callItem(call);
    const place = { item_id: item.id, output_index };
    return [
      event("response.output_item.added", {
        output_index,
        item: { ...item, arguments: "", status: "in_progress" },
      }),
      event("response.function_call_arguments.delta", { ...place, delta: item.arguments }),
      event("response.function_call_arguments.done", { ...place, name: item.name, arguments: item.arguments }),
      event("response.output_item.done", { output_index, item }),
    ];
  }

  /** The event with its number. */
  sent(event: object): object {
    const sequence_number = this.#seq;
    this.#seq += 1;
    return { ...event, sequence_number };
  }

  #place() {
    return { item_id: this.#messageId, output_index: 0, content_index: 0 };
  }

  #message(text: string, status: "in_progress" | "completed") {
    return { id: this.#messageId, type: "message", status, role: "assistant", content: [textPart(text)] };
  }

  #object(status: "in_progress" | "completed" | "incomplete" | "failed", fields: object): object {
    const { model, previous, instructions, isStored, ask } = this.#asked;
    const { tools = [], wish = {} } = ask;
    return {
      id: this.id,
      object: "response",
      created_at: this.#createdAt,
      status,
      error: null,
      incomplete_details: null,
      instructions,
      metadata: {},
      model,
      output: [],
      parallel_tool_calls: true,
      previous_response_id: previous ?? null,
      store: isStored,
      temperature: wish.temperature ?? null,
      top_p: wish.topP ?? null,
      max_output_tokens: wish.maxTokens ?? null,
      text: { format: formatShown(wish.format) },
      tool_choice: choiceShown(wish.calls),
      tools: tools.map((tool) => ({ type: "function", strict: false, description: null, parameters: null, ...tool })),
      truncation: "disabled",
      usage: null,
      ...fields,
    };
  }
}

const event = (type: string, fields: object) => ({ type, ...fields });

const statusOf = ({ finish }: Done) => (finish === "length" ? "incomplete" : "completed");

const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });

const callItem = ({ id, name, arguments: args }: ToolCallContent) => ({
  id: `fc_${id.replaceAll(/\W/g, "_")}`,
  type: "function_call",
  status: "completed",
  call_id: id,
  name,
  arguments: JSON.stringify(args),
});

type Wish = NonNullable<AnswerOrder["ask"]["wish"]>;

function formatShown(format: Wish["format"]) {
  if (!format) return { type: "text" };
  return format.schema ? { type: "json_schema", name: "answer", schema: format.schema } : { type: "json_object" };
}

const choiceShown = (calls: Wish["calls"]) =>
  typeof calls === "object" ? { type: "function", name: calls.tool } : (calls ?? "auto");

function usageOf(usage: Usage) {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.output,
  };
}
