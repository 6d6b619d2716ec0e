import http from "node:http";
import type { AddressInfo } from "node:net";

/** What the model is asked, as OpenAI's chat completions API has it. */
export interface ModelCall {
  readonly messages: readonly { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  readonly tools: readonly { function: { name: string } }[];
  readonly model: string;
  /** Text of the last user message. */
  readonly said: string;
  readonly system: string;
  readonly isAfterTool: boolean;
  /** Text of the last tool result. */
  readonly toolText: string;
  /** Data URLs of the images in the last user message. */
  readonly images: readonly string[];
  readonly effort: string | undefined;
}

/** What it answers: words streamed one by one, a tool call, a failure, or nothing at all. */
export type ModelReply =
  | {
      readonly text: string;
      readonly everyMs?: number;
      readonly stopAfter?: number;
      /** Asked for after the words. */
      readonly tool?: string;
      readonly args?: Record<string, unknown>;
    }
  | { readonly tool: string; readonly args: Record<string, unknown> }
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | "hang";

export interface FakeModel {
  readonly url: string;
  readonly calls: readonly ModelCall[];
  /** Decides about every call from now on. */
  answer(with_: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply>): void;
  /** Calls that no answer has ended yet. */
  readonly open: number;
  /** Resolves when so many calls have come in. */
  called(count: number, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * An OpenAI-compatible server on loopback; its stream is shaped as in
 * https://platform.openai.com/docs/api-reference/chat-streaming.
 */
export async function startFakeModel(): Promise<FakeModel> {
  const fake = new Fake();
  await fake.listen();
  return fake;
}

class Fake implements FakeModel {
  readonly calls: ModelCall[] = [];
  open = 0;
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  readonly #waiting = new Set<() => void>();
  #answer: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply> = (call) => ({
    text: `echo: ${call.said}`,
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  answer(with_: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply>): void {
    this.#answer = with_;
  }

  async called(count: number, timeoutMs = 10_000): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`the model was called ${this.calls.length} of ${count} times`)),
        timeoutMs,
      );
      const look = () => {
        if (this.calls.length < count) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== "POST")
      return json(response, 200, { object: "list", data: [{ id: "fake-1", object: "model" }] });
    const call = readCall(JSON.parse(Buffer.concat(chunks).toString("utf8")));
    this.calls.push(call);
    this.open += 1;
    response.once("close", () => {
      this.open -= 1;
    });
    for (const look of this.#waiting) look();
    const reply = await this.#answer(call, this.calls.length);
    if (reply === "hang") return;
    if ("status" in reply) return fail(response, reply);
    await stream(response, reply, call.model);
  }
}

function readCall(body: {
  messages: ModelCall["messages"];
  tools?: ModelCall["tools"];
  model: string;
  reasoning_effort?: string;
}): ModelCall {
  const users = body.messages.filter((message) => message.role === "user");
  const last = body.messages.at(-1);
  return {
    messages: body.messages,
    tools: body.tools ?? [],
    model: body.model,
    said: textOf(users.at(-1)?.content),
    system: textOf(body.messages.find((message) => message.role === "system" || message.role === "developer")?.content),
    isAfterTool: last?.role === "tool",
    toolText: textOf(body.messages.findLast((message) => message.role === "tool")?.content),
    images: imagesOf(users.at(-1)?.content),
    effort: body.reasoning_effort,
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("\n");
}

function imagesOf(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: { image_url?: { url: string } }) => part.image_url?.url ?? []);
}

function json(response: http.ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function fail(response: http.ServerResponse, reply: { status: number; message: string; retryAfter?: number }): void {
  if (reply.retryAfter !== undefined) response.setHeader("retry-after", String(reply.retryAfter));
  json(response, reply.status, { error: { message: reply.message, type: "error" } });
}

let ids = 0;

async function stream(
  response: http.ServerResponse,
  reply: Exclude<ModelReply, "hang" | { status: number }>,
  model: string,
): Promise<void> {
  ids += 1;
  const base = { id: `fake-${ids}`, object: "chat.completion.chunk", created: 1, model };
  const send = (delta: unknown, finish: string | null = null) =>
    response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ role: "assistant", content: "" });
  if ("text" in reply && !(await streamWords(response, reply, send))) return;
  if (reply.tool === undefined) {
    send({}, "stop");
  } else {
    send({
      tool_calls: [
        {
          index: 0,
          id: `call_${ids}`,
          type: "function",
          function: { name: reply.tool, arguments: JSON.stringify(reply.args ?? {}) },
        },
      ],
    });
    send({}, "tool_calls");
  }
  response.write(
    `data: ${JSON.stringify({ ...base, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

async function streamWords(
  response: http.ServerResponse,
  reply: { text: string; everyMs?: number; stopAfter?: number },
  send: (delta: unknown) => void,
): Promise<boolean> {
  const words = reply.text.match(/\S+\s*/g) ?? [];
  for (const [index, word] of words.entries()) {
    if (response.destroyed) return false;
    if (index === reply.stopAfter) {
      response.destroy();
      return false;
    }
    send({ content: word });
    if (reply.everyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.everyMs));
  }
  return true;
}
