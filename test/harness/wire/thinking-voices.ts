import type { ModelReply } from "../../fakes/model.ts";
import type { WireApi } from "./wires.ts";

/** An answer of a model that thinks, in no API's words. */
export interface Thoughtful {
  readonly thinking?: string;
  readonly text?: string;
  readonly tool?: string;
  readonly args?: Record<string, unknown>;
  /** Tokens of the request that the provider's cache had, and that it took in. */
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

let count = 0;
const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const named = (event: { type: string; [more: string]: unknown }): string => `event: ${event.type}\n${data(event)}`;
/** Signatures are base64 everywhere. */
const signatureOf = (text: string): string => Buffer.from(`signature of ${text}`).toString("base64");

/** The answer as that API streams it, its thinking signed where the API signs. */
export function thoughtful(api: WireApi, answer: Thoughtful): ModelReply {
  count += 1;
  // As long as real ones: the SDK makes short ids itself.
  const body = BODIES[api](answer, `${count}`.padStart(24, "0"));
  return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
}

type Body = (answer: Thoughtful, id: string) => string;

/** https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking */
const messages: Body = ({ thinking, text, tool, args = {}, cacheRead = 0, cacheWrite = 0 }, id) => {
  let index = -1;
  const block = (start: object, ...deltas: readonly object[]): string => {
    index += 1;
    return (
      named({ type: "content_block_start", index, content_block: start }) +
      deltas.map((delta) => named({ type: "content_block_delta", index, delta })).join("") +
      named({ type: "content_block_stop", index })
    );
  };
  const usage = { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: cacheRead };
  return [
    named({
      type: "message_start",
      message: {
        id: `msg_${id}`,
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, cache_creation_input_tokens: cacheWrite },
      },
    }),
    thinking === undefined
      ? ""
      : block(
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking },
          { type: "signature_delta", signature: signatureOf(thinking) },
        ),
    text === undefined ? "" : block({ type: "text", text: "" }, { type: "text_delta", text }),
    tool === undefined
      ? ""
      : block(
          { type: "tool_use", id: `toolu_${id}`, name: tool, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(args) },
        ),
    named({
      type: "message_delta",
      delta: { stop_reason: tool === undefined ? "end_turn" : "tool_use", stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    named({ type: "message_stop" }),
  ].join("");
};

/** https://platform.openai.com/docs/api-reference/responses-streaming */
const responses: Body = ({ thinking, text, tool, args = {}, cacheRead = 0 }, id) => {
  let sequence = 0;
  let output = -1;
  const event = (type: string, more: object) => named({ type, sequence_number: (sequence += 1), ...more });
  const item = (begun: object, finished: object, ...deltas: readonly [string, object][]): string => {
    output += 1;
    return (
      event("response.output_item.added", { output_index: output, item: begun }) +
      deltas.map(([type, more]) => event(type, { output_index: output, ...more })).join("") +
      event("response.output_item.done", { output_index: output, item: finished })
    );
  };
  const reasoning = { type: "reasoning", id: `rs_${id}`, summary: [] };
  const summary = { type: "summary_text", text: thinking };
  const of = { item_id: `rs_${id}`, summary_index: 0 };
  const message = { type: "message", id: `msg_${id}`, role: "assistant" };
  const words = { type: "output_text", text, annotations: [] };
  const at = { item_id: `msg_${id}`, content_index: 0 };
  const call = { type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name: tool, arguments: "" };
  const json = JSON.stringify(args);
  const response = { id: `resp_${id}`, object: "response", model: "gpt", output: [] };
  return [
    event("response.created", { response: { ...response, status: "in_progress" } }),
    thinking === undefined
      ? ""
      : item(
          reasoning,
          { ...reasoning, summary: [summary], encrypted_content: signatureOf(thinking) },
          ["response.reasoning_summary_part.added", { ...of, part: { ...summary, text: "" } }],
          ["response.reasoning_summary_text.delta", { ...of, delta: thinking }],
          ["response.reasoning_summary_part.done", { ...of, part: summary }],
        ),
    text === undefined
      ? ""
      : item(
          { ...message, status: "in_progress", content: [] },
          { ...message, status: "completed", content: [words] },
          ["response.content_part.added", { ...at, part: { ...words, text: "" } }],
          ["response.output_text.delta", { ...at, delta: text }],
        ),
    tool === undefined
      ? ""
      : item({ ...call, status: "in_progress" }, { ...call, arguments: json, status: "completed" }, [
          "response.function_call_arguments.delta",
          { item_id: `fc_${id}`, delta: json },
        ]),
    event("response.completed", {
      response: {
        ...response,
        status: "completed",
        usage: {
          input_tokens: 7 + cacheRead,
          output_tokens: 5,
          total_tokens: 12 + cacheRead,
          input_tokens_details: { cached_tokens: cacheRead },
          output_tokens_details: { reasoning_tokens: 0 },
        },
      },
    }),
  ].join("");
};

/** https://ai.google.dev/gemini-api/docs/thinking */
const google: Body = ({ thinking, text, tool, args = {}, cacheRead = 0 }) => {
  const signed = thinking !== undefined && { thoughtSignature: signatureOf(thinking) };
  const chunk = (parts: readonly object[], more: object = {}) =>
    data({
      candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
      usageMetadata: {
        promptTokenCount: 7 + cacheRead,
        cachedContentTokenCount: cacheRead,
        candidatesTokenCount: 5,
        totalTokenCount: 12 + cacheRead,
      },
      modelVersion: "gemini",
    });
  return [
    thinking === undefined ? "" : chunk([{ text: thinking, thought: true }]),
    text === undefined ? "" : chunk([{ text, ...(tool === undefined && signed) }]),
    tool === undefined ? "" : chunk([{ functionCall: { name: tool, args }, ...signed }]),
    chunk([], { finishReason: "STOP" }),
  ].join("");
};

/** https://platform.openai.com/docs/api-reference/chat-streaming, with the field for thoughts that DeepSeek began. */
const completions: Body = ({ thinking, text, tool, args = {}, cacheRead = 0 }, id) => {
  const chunk = (delta: object, reason: string | null = null, more: object = {}) =>
    data({
      id: `chat_${id}`,
      object: "chat.completion.chunk",
      created: 1,
      model: "plain-1",
      choices: [{ index: 0, delta, finish_reason: reason }],
      ...more,
    });
  const call = { index: 0, id: `call_${id}`, type: "function" };
  const usage = {
    prompt_tokens: 7 + cacheRead,
    completion_tokens: 5,
    total_tokens: 12 + cacheRead,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
  return [
    chunk({ role: "assistant", content: "" }),
    thinking === undefined ? "" : chunk({ reasoning_content: thinking }),
    text === undefined ? "" : chunk({ content: text }),
    tool === undefined
      ? ""
      : chunk({ tool_calls: [{ ...call, function: { name: tool, arguments: JSON.stringify(args) } }] }),
    chunk({}, tool === undefined ? "stop" : "tool_calls", { usage }),
    "data: [DONE]\n\n",
  ].join("");
};

const BODIES: Readonly<Record<WireApi, Body>> = {
  "openai-completions": completions,
  "anthropic-messages": messages,
  "openai-responses": responses,
  "google-generative-ai": google,
};
