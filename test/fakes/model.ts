import http from "node:http";
import type { AddressInfo } from "node:net";
import { voiceFor, type FakeReason, type Voice } from "./model-voices.ts";

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
  /** Tokens that the answer may have at most, in OpenAI's chat API. */
  readonly maxTokens: number | undefined;
  /** What was sent as `Authorization: Bearer …`. */
  readonly key: string | undefined;
  /** The request as it came. */
  readonly body: object;
}

/** How a stream ends: in order; with `[DONE]` but no reason; just closed; with a reset; or not at all. */
export type FakeEnding = "whole" | "unreasoned" | "eof" | "reset" | "stall" | Complete;

/**
 * How a connection goes on after an answer that is complete: it stays open, also without the mark after the last event; it ends with
 * `bodyUntil`; it breaks, also without the mark; garbage follows; the counts come after a pause.
 */
export type Complete = "open" | "open_unmarked" | "late" | "reset_after" | "reset_unmarked" | "garbage" | "late_counts";

/** What it answers: words streamed one by one, a tool call, a failure, or nothing at all. */
export type ModelReply =
  | {
      readonly text: string;
      /** Thought before the words, where the voice can show it. */
      readonly thinking?: string;
      readonly everyMs?: number;
      /** The last word, or the break, waits for it. */
      readonly until?: Promise<unknown>;
      /** The connection breaks after so many words. */
      readonly stopAfter?: number;
      /** Asked for after the words. */
      readonly tool?: string;
      readonly args?: Record<string, unknown>;
      /** Only so many characters of the arguments are sent. */
      readonly argsCut?: number;
      readonly ending?: FakeEnding;
      /** With the ending `late`, the body ends when it has resolved. */
      readonly bodyUntil?: Promise<unknown>;
      /** `stop`, or `tool` after a call, when not given. */
      readonly reason?: FakeReason;
      /** Comments that keep the connection alive once the words are out. */
      readonly pingMs?: number;
      /** Called before each of these comments. */
      readonly onPing?: () => void;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly tool: string; readonly args: Record<string, unknown> }
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | { readonly raw: RawReply }
  | "hang"
  | "reset";

export interface RawReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface FakeModel {
  /** Base URL of the chat completions API. */
  readonly url: string;
  /** Base URL as each API's client wants it; all of them are spoken. */
  urlFor(api: string): string;
  readonly calls: readonly ModelCall[];
  /** Decides about every call from now on. */
  answer(with_: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply>): void;
  /** Status of the answer to whoever asks for the list of models. */
  listStatus: number;
  /** Calls that no answer has ended yet. */
  readonly open: number;
  /** Connections that were made. */
  readonly connections: number;
  /** Resolves when so many calls have come in; rejects after `timeoutMs` (30 s). */
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
  listStatus = 200;
  open = 0;
  connections = 0;
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  readonly #waiting = new Set<() => void>();
  #answer: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply> = (call) => ({
    text: `echo: ${call.said}`,
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  urlFor(api: string): string {
    const root = this.url.slice(0, -"/v1".length);
    if (api === "google-generative-ai") return `${root}/v1beta`;
    return api === "anthropic-messages" || api === "mistral-conversations" ? root : this.url;
  }

  async listen(): Promise<void> {
    // A connection that was left alone is not closed under the call that comes next.
    this.#server.keepAliveTimeout = 0;
    this.#server.on("connection", () => (this.connections += 1));
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  answer(with_: (call: ModelCall, number: number) => ModelReply | Promise<ModelReply>): void {
    this.#answer = with_;
  }

  async called(count: number, timeoutMs = 30_000): Promise<void> {
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
      return json(response, this.listStatus, { object: "list", data: [{ id: "fake-1", object: "model" }] });
    const path = new URL(request.url ?? "/", "http://fake").pathname;
    const key = request.headers.authorization?.replace(/^Bearer /, "");
    const call = { ...readCall(JSON.parse(Buffer.concat(chunks).toString("utf8")), path), key };
    this.calls.push(call);
    this.open += 1;
    response.once("close", () => {
      this.open -= 1;
    });
    for (const look of this.#waiting) look();
    const reply = await this.#answer(call, this.calls.length);
    if (reply === "hang") return;
    if (reply === "reset") return void response.destroy();
    if ("raw" in reply) return void response.writeHead(reply.raw.status, reply.raw.headers).end(reply.raw.body);
    if ("status" in reply) return fail(response, reply);
    await stream(response, reply, voiceFor(path, call.model));
  }
}

interface CallBody {
  readonly messages?: ModelCall["messages"];
  /** OpenAI's Responses. */
  readonly input?: ModelCall["messages"];
  /** Google. */
  readonly contents?: readonly { role: string; parts: unknown }[];
  readonly tools?: ModelCall["tools"];
  readonly model?: string;
  readonly reasoning_effort?: string;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
}

function messagesIn({ messages, input, contents }: CallBody): ModelCall["messages"] {
  return messages ?? input ?? contents?.map(({ role, parts }) => ({ role, content: parts })) ?? [];
}

function readCall(body: CallBody, path: string): Omit<ModelCall, "key"> {
  const messages = messagesIn(body);
  const users = messages.filter((message) => message.role === "user");
  const last = messages.at(-1);
  return {
    messages,
    tools: body.tools ?? [],
    model: body.model ?? /models\/([^:]+):/.exec(path)?.[1] ?? "",
    said: textOf(users.at(-1)?.content),
    system: textOf(messages.find((message) => message.role === "system" || message.role === "developer")?.content),
    isAfterTool: last?.role === "tool",
    toolText: textOf(messages.findLast((message) => message.role === "tool")?.content),
    images: imagesOf(users.at(-1)?.content),
    effort: body.reasoning_effort,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    body,
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

type StreamedReply = Exclude<ModelReply, string | { status: number } | { raw: RawReply }>;
type Words = Extract<StreamedReply, { text: string }>;

async function stream(response: http.ServerResponse, given: StreamedReply, voice: Voice): Promise<void> {
  const reply: Words = "text" in given ? given : { text: "", ...given };
  response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
  response.write(voice.begin());
  if (!(await streamWords(response, reply, voice))) return;
  if (reply.tool !== undefined) {
    response.write(voice.call(reply.tool));
    response.write(voice.args(JSON.stringify(reply.args ?? {}).slice(0, reply.argsCut)));
  }
  finish(response, reply, voice);
}

function finish(response: http.ServerResponse, reply: Words, voice: Voice): void {
  const { ending = "whole", reason = reply.tool === undefined ? "stop" : "tool", pingMs, onPing } = reply;
  if (pingMs !== undefined) ping(response, pingMs, onPing);
  if (ending === "whole") response.end(voice.finish(reason) + voice.done);
  if (ending === "unreasoned") response.end(voice.done);
  if (ending === "eof") response.end();
  // What was written before should arrive before the connection breaks.
  if (ending === "reset") response.write(": bye\n\n", () => setImmediate(() => response.destroy()));
  finishOddly(response, { events: voice.finish(reason), ending, reply }, voice);
}

/** Endings of an answer that is complete: its body goes on, breaks, or ends late. */
function finishOddly(
  response: http.ServerResponse,
  { events, ending, reply }: { events: string; ending: FakeEnding; reply: Words },
  voice: Voice,
): void {
  const reset = () => setImmediate(() => response.destroy());
  // The last event of Anthropic is its mark.
  const unmarked = events.replace(/event: message_stop\n.*\n\n$/, "");
  if (ending === "open") response.write(events + voice.done);
  if (ending === "open_unmarked") response.write(unmarked);
  if (ending === "late") response.write(events + voice.done, () => void reply.bodyUntil?.then(() => response.end()));
  if (ending === "reset_after") response.write(events + voice.done, reset);
  if (ending === "reset_unmarked") response.write(unmarked, reset);
  if (ending === "garbage") response.write(`${events}${voice.done}data: {"half": [\n\nnothing of this counts\n\n`);
  if (ending === "late_counts") void lateCounts(response, events, voice);
}

/** Some servers send the counts in an event of their own. */
async function lateCounts(response: http.ServerResponse, events: string, voice: Voice): Promise<void> {
  const [, before = events, counts = ""] = /^(.*?)((?:data: [^\n]*"choices":\[\][^\n]*\n\n)?)$/s.exec(events) ?? [];
  response.write(before);
  await new Promise((resolve) => setTimeout(resolve, 300));
  response.write(counts + voice.done);
}

function ping(response: http.ServerResponse, everyMs: number, onPing?: () => void): void {
  const timer = setInterval(() => {
    onPing?.();
    response.write(": still here\n\n");
  }, everyMs);
  response.once("close", () => clearInterval(timer));
}

async function streamWords(response: http.ServerResponse, reply: Words, voice: Voice): Promise<boolean> {
  const words = reply.text.match(/\S+\s*/g) ?? [];
  if (reply.thinking !== undefined) response.write(voice.thought?.(reply.thinking) ?? "");
  for (const [index, word] of words.entries()) {
    if (response.destroyed) return false;
    if (index === reply.stopAfter) {
      await reply.until;
      response.destroy();
      return false;
    }
    if (index === words.length - 1) await reply.until;
    response.write(voice.word(word));
    if (reply.everyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.everyMs));
  }
  return true;
}
