/** Why an answer ends, in no API's words. */
export type FakeReason = "stop" | "length" | "tool" | "refusal";

/** How one API streams an answer: frames of server-sent events. Made anew for every answer. */
export interface Voice {
  begin(): string;
  word(text: string): string;
  /** What the model thinks, where the API shows it. */
  thought?(text: string): string;
  /** Opens a call; its arguments follow in pieces. */
  call(name: string): string;
  args(piece: string): string;
  /** Everything that stands after the last piece. */
  finish(reason: FakeReason): string;
  /** The marker after the last event, where the API has one. */
  readonly done: string;
}

let ids = 0;
const nextId = (): string => `fake-${(ids += 1)}`;
const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const named = (event: { type: string; [more: string]: unknown }): string => `event: ${event.type}\n${data(event)}`;

/** https://platform.openai.com/docs/api-reference/chat-streaming */
export function completionsVoice(model: string): Voice {
  const id = nextId();
  const chunk = (delta: unknown, reason: string | null = null) =>
    data({
      id,
      object: "chat.completion.chunk",
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const reasons = { stop: "stop", length: "length", tool: "tool_calls", refusal: "content_filter" };
  return {
    begin: () => chunk({ role: "assistant", content: "" }),
    word: (content) => chunk({ content }),
    thought: (text) => chunk({ reasoning_content: text }),
    call: (name) =>
      chunk({ tool_calls: [{ index: 0, id: `call_${id}`, type: "function", function: { name, arguments: "" } }] }),
    args: (piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
    finish: (reason) =>
      chunk({}, reasons[reason]) + data({ id, object: "chat.completion.chunk", created: 1, model, choices: [], usage }),
    done: "data: [DONE]\n\n",
  };
}

/** https://docs.anthropic.com/en/docs/build-with-claude/streaming */
export function messagesVoice(model: string): Voice {
  const id = nextId();
  let index = -1;
  const close = () => (index < 0 ? "" : named({ type: "content_block_stop", index }));
  const open = (block: object) => {
    const closed = close();
    index += 1;
    return closed + named({ type: "content_block_start", index, content_block: block });
  };
  let inText = false;
  const reasons = { stop: "end_turn", length: "max_tokens", tool: "tool_use", refusal: "refusal" };
  return {
    begin: () =>
      named({
        type: "message_start",
        message: {
          id,
          type: "message",
          role: "assistant",
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 10, output_tokens: 1 },
        },
      }) + named({ type: "ping" }),
    word(text) {
      const opened = inText ? "" : open({ type: "text", text: "" });
      inText = true;
      return opened + named({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
    },
    call(name) {
      inText = false;
      return open({ type: "tool_use", id: `toolu_${id}`, name, input: {} });
    },
    args: (piece) =>
      named({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: piece } }),
    finish: (reason) =>
      close() +
      named({
        type: "message_delta",
        delta: { stop_reason: reasons[reason], stop_sequence: null },
        usage: { output_tokens: 5 },
      }) +
      named({ type: "message_stop" }),
    done: "",
  };
}

/** https://platform.openai.com/docs/api-reference/responses-streaming */
export function responsesVoice(model: string): Voice {
  const id = `resp_${nextId()}`;
  let sequence = 0;
  let output = -1;
  let text = "";
  let call: { name: string; json: string } | undefined;
  const event = (type: string, more: object) => named({ type, sequence_number: (sequence += 1), ...more });
  const response = (status: string, more: object = {}) => ({
    response: { id, object: "response", model, status, output: [], ...more },
  });
  const item = () =>
    call
      ? { type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name: call.name, arguments: call.json }
      : {
          type: "message",
          id: `msg_${id}`,
          role: "assistant",
          content: [{ type: "output_text", text, annotations: [] }],
        };
  const close = () =>
    output < 0
      ? ""
      : event("response.output_item.done", { output_index: output, item: { ...item(), status: "completed" } });
  const open = () => {
    output += 1;
    return event("response.output_item.added", {
      output_index: output,
      item: { ...item(), content: [], arguments: "" },
    });
  };
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const incomplete = { length: "max_output_tokens", refusal: "content_filter" };
  return {
    begin: () => event("response.created", response("in_progress")),
    word(delta) {
      const at = { item_id: `msg_${id}`, content_index: 0 };
      const part = { part: { type: "output_text", text: "", annotations: [] } };
      const opened =
        text === "" ? open() + event("response.content_part.added", { ...at, output_index: output, ...part }) : "";
      text += delta;
      return opened + event("response.output_text.delta", { ...at, output_index: output, delta });
    },
    call(name) {
      const closed = close();
      call = { name, json: "" };
      return closed + open();
    },
    args(delta) {
      if (call) call.json += delta;
      return event("response.function_call_arguments.delta", { item_id: `fc_${id}`, output_index: output, delta });
    },
    finish(reason) {
      if (reason === "stop" || reason === "tool")
        return close() + event("response.completed", response("completed", { usage }));
      return event(
        "response.incomplete",
        response("incomplete", { usage, incomplete_details: { reason: incomplete[reason] } }),
      );
    },
    done: "",
  };
}

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
export function googleVoice(model: string): Voice {
  let call = "";
  let json = "";
  const chunk = (parts: readonly object[], more: object = {}) =>
    data({
      candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      modelVersion: model,
    });
  const reasons = { stop: "STOP", length: "MAX_TOKENS", tool: "STOP", refusal: "SAFETY" };
  return {
    begin: () => "",
    word: (text) => chunk([{ text }]),
    // Gemini sends a call in one piece.
    call(name) {
      call = name;
      return "";
    },
    args(piece) {
      json += piece;
      return isJson(json) ? chunk([{ functionCall: { name: call, args: JSON.parse(json) } }]) : "";
    },
    finish: (reason) => chunk([], { finishReason: reasons[reason] }),
    done: "",
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The voice of the API that a path belongs to. */
export function voiceFor(path: string, model: string): Voice {
  if (path.endsWith("/messages")) return messagesVoice(model);
  if (path.endsWith("/responses")) return responsesVoice(model);
  if (path.includes(":streamGenerateContent")) return googleVoice(model);
  return completionsVoice(model);
}
