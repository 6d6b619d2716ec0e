import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RunStream, RunEvent } from "../../types/run/events.ts";
import type { ServerPorts } from "../options.ts";
import { RunText } from "../events/runs.ts";
import { disconnectSignal } from "../transport/disconnect.ts";
import { FAILED, sendError, stopped, type ApiError, errorBody, fromFailure } from "./errors.ts";
import { requestedAgent, isOurModel, parseCompletion, type CompletionRequest } from "./request.ts";
import { findAgent, startCompletion, type StartPorts } from "./start.ts";
import type { Clock } from "../../types/clock.ts";
import type { Usage } from "../../types/run/model.ts";
import type { RunResult } from "../../types/run/run.ts";
import { background } from "../../utils/background.ts";

type Ports = StartPorts & Pick<ServerPorts, "log">;

/** Answers `POST /v1/chat/completions`: starts a run, and sends its text as one answer or as a stream of events. */
export async function answerCompletion(request: FastifyRequest, reply: FastifyReply, ports: Ports): Promise<unknown> {
  const parsed = parseCompletion(request.body);
  if (parsed.kind === "bad") return sendError(reply, parsed.error);
  const { model } = parsed.request;
  const header = request.headers["x-openclaw-agent-id"];
  const requested = requestedAgent(model, typeof header === "string" && header !== "" ? header : undefined);
  const agent = isOurModel(model) ? findAgent(requested, ports.catalog) : undefined;
  if (agent === undefined) return sendError(reply, unknownModel(model));
  const gone = disconnectSignal(reply.raw);
  const stream = await startCompletion(parsed.request, agent, ports, gone);
  if (stream === undefined) return sendError(reply, stopped("the run did not begin"));
  const head = { id: `chatcmpl-${randomUUID()}`, model, created: Math.floor(ports.clock.now() / 1000) };
  return parsed.request.stream === true
    ? streamAnswer(stream, { head, reply, request: parsed.request, ports })
    : sendAnswer(stream, head, reply);
}

const unknownModel = (model: string): ApiError => ({
  status: 404,
  message: `There is no model ${model}; use openclaw or openclaw/<agentId> (GET /v1/models lists them).`,
  type: "invalid_request_error",
  code: "model_not_found",
  param: "model",
});

async function sendAnswer(stream: RunStream, head: AnswerHead, reply: FastifyReply): Promise<FastifyReply> {
  const text = new RunText();
  const end = await follow(stream, async (event) => void text.add(event));
  const error = end === undefined ? stopped("the run ended without an outcome") : endError(end.result);
  if (error !== undefined) return sendError(reply, error);
  return end === undefined ? reply : reply.send(wholeAnswer(head, text.text, end));
}

interface StreamContext {
  readonly head: AnswerHead;
  readonly reply: FastifyReply;
  readonly request: CompletionRequest;
  readonly ports: Ports;
}

async function streamAnswer(stream: RunStream, { head, reply, request, ports }: StreamContext): Promise<void> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  const writer = new EventWriter(reply.raw, head, ports.clock);
  const text = new RunText();
  try {
    const end = await follow(stream, (event) => writer.text(text.add(event)));
    const error = end === undefined ? stopped("the run ended without an outcome") : endError(end.result);
    if (error !== undefined) writer.fail(error);
    else if (end !== undefined) await writer.finish(end, request.stream_options?.include_usage === true);
  } catch (error) {
    ports.log.error("streaming failed", { run: stream.facts.runId, error });
    writer.fail(FAILED);
  } finally {
    writer.stop();
  }
}

async function follow(
  stream: RunStream,
  show: (event: Parameters<RunText["add"]>[0]) => Promise<void>,
): Promise<RunEnd | undefined> {
  for await (const event of stream.watch()) {
    if (event.type === "run_end") return event;
    await show(event);
  }
  return undefined;
}

/** Fields that every chunk of an answer repeats. */
interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** Epoch seconds. */
  readonly created: number;
}

type RunEnd = RunEvent & { readonly type: "run_end" };

/** The error of a run that failed or was aborted; undefined for one that replied. */
function endError(result: RunResult): ApiError | undefined {
  if (result.kind === "failed") return fromFailure(result.failure);
  return result.kind === "aborted" ? stopped(`the run was aborted by ${result.by}`) : undefined;
}

const finishReason = (result: RunResult) => (result.kind === "replied" ? result.stop : "stop");

function usageOf(usage: Usage) {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}

function wholeAnswer(head: AnswerHead, text: string, end: RunEnd) {
  const message = { role: "assistant", content: text, refusal: null };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(end.result) };
  return { ...head, object: "chat.completion", choices: [choice], usage: usageOf(end.receipt.usage) };
}

const KEEP_ALIVE_MS = 15_000;

/** Writes one answer as server-sent events. Sends nothing before the first text, so that an early failure can set the status. */
class EventWriter {
  readonly #raw: ServerResponse;
  readonly #head: AnswerHead;
  readonly #clock: Clock;
  #cancel: () => void;

  constructor(raw: ServerResponse, head: AnswerHead, clock: Clock) {
    this.#raw = raw;
    this.#head = head;
    this.#clock = clock;
    this.#cancel = this.#keepAlive();
  }

  get isOpen(): boolean {
    return this.#raw.headersSent;
  }

  /** Resolves when the client can take more. */
  async text(text: string): Promise<void> {
    if (text === "") return;
    this.#open();
    await this.#chunk({ choices: [choice({ content: text }, null)] });
  }

  async finish(end: RunEnd, withUsage: boolean): Promise<void> {
    this.#open();
    await this.#chunk({ choices: [choice({}, finishReason(end.result))] });
    if (withUsage) await this.#chunk({ choices: [], usage: usageOf(end.receipt.usage) });
    await this.#write("data: [DONE]\n\n");
    this.#raw.end();
  }

  /** Ends with an error: with its status when nothing was sent yet, else inside the stream. */
  fail(error: ApiError): void {
    const body = JSON.stringify(errorBody(error));
    if (this.isOpen) this.#raw.end(`data: ${body}\n\n`);
    else {
      this.#raw.writeHead(error.status, { "content-type": "application/json; charset=utf-8" });
      this.#raw.end(body);
    }
  }

  stop(): void {
    this.#cancel();
  }

  #open(): void {
    if (this.isOpen) return;
    this.#raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      connection: "keep-alive",
      "x-accel-buffering": "no",
    });
    background("start of a stream", this.#chunk({ choices: [choice({ role: "assistant", content: "" }, null)] }));
  }

  #keepAlive(): () => void {
    return this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#open();
      // A client that does not read needs no keep-alive, and each one would add another waiting write.
      if (!this.#raw.writableNeedDrain) background("keep-alive of a stream", this.#write(": waiting\n\n"));
      this.#cancel = this.#keepAlive();
    });
  }

  #chunk(fields: Record<string, unknown>): Promise<void> {
    return this.#write(`data: ${JSON.stringify({ ...this.#head, object: "chat.completion.chunk", ...fields })}\n\n`);
  }

  #write(text: string): Promise<void> {
    const raw = this.#raw;
    if (raw.destroyed || raw.write(text)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        raw.off("drain", done).off("close", done);
        resolve();
      };
      raw.on("drain", done).on("close", done);
    });
  }
}

const choice = (delta: Record<string, unknown>, finish: string | null) => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finish,
});
