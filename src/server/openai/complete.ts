import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RunStream } from "../../types/run/events.ts";
import type { ToolCallContent, Usage } from "../../types/run/model.ts";
import type { OpenAiOptions } from "../options.ts";
import { disconnectSignal } from "../transport/disconnect.ts";
import { readClientAnswer, type ClientAnswer } from "./answer.ts";
import { errorBody, FAILED, sendError, stopped } from "./errors.ts";
import { EventWriter } from "./event-writer.ts";
import { isApiError, readCompletionBody, type CompletionAsked } from "./request.ts";
import { orderOf, startAnswer, type StartPorts } from "./start.ts";

/** Answers `POST /v1/chat/completions`: starts a run, and sends its text as one answer or as a stream of events. */
export async function answerCompletion(
  request: FastifyRequest,
  reply: FastifyReply,
  options: OpenAiOptions,
  ports: StartPorts,
): Promise<unknown> {
  const asked = readCompletionBody(request.body);
  if (isApiError(asked)) return sendError(reply, asked);
  const order = await orderOf(request, asked, options, ports);
  if (isApiError(order)) return sendError(reply, order);
  const stream = await startAnswer(order, ports, disconnectSignal(reply.raw));
  if (stream === undefined) return sendError(reply, stopped("the run did not begin"));
  const head = { id: `chatcmpl-${randomUUID()}`, model: asked.model, created: Math.floor(ports.clock.now() / 1000) };
  if (asked.isStream) return streamAnswer(stream, { head, reply, asked, ports });
  const end = await readClientAnswer(stream, asked, async () => undefined);
  return end.kind === "failed" ? sendError(reply, end.error) : reply.send(wholeAnswer(head, end));
}

interface StreamContext {
  readonly head: AnswerHead;
  readonly reply: FastifyReply;
  readonly asked: CompletionAsked;
  readonly ports: Pick<StartPorts, "clock" | "log">;
}

async function streamAnswer(stream: RunStream, { head, reply, asked, ports }: StreamContext): Promise<void> {
  const chunk = (fields: Record<string, unknown>) => ({ ...head, object: "chat.completion.chunk", ...fields });
  const begin = () => [chunk({ choices: [choice({ role: "assistant", content: "" }, null)] })];
  const writer = new EventWriter(
    reply,
    { begin, failure: (error) => [errorBody(error)], sent: (event) => event },
    ports.clock,
  );
  try {
    const end = await readClientAnswer(stream, asked, async (text) => {
      if (text !== "") await writer.send(chunk({ choices: [choice({ content: text }, null)] }));
    });
    if (end.kind === "failed") return writer.fail(end.error);
    const calls = end.calls.map((call, index) => ({ index, ...shownCall(call) }));
    if (calls.length > 0) await writer.send(chunk({ choices: [choice({ tool_calls: calls }, null)] }));
    const last = chunk({ choices: [choice({}, end.finish)] });
    const usage = asked.withUsage ? [chunk({ choices: [], usage: usageOf(end.usage) })] : [];
    await writer.finish(last, ...usage);
  } catch (error) {
    ports.log.error("streaming failed", { run: stream.facts.runId, error });
    writer.fail(FAILED);
  } finally {
    writer.stop();
  }
}

/** Fields that every chunk of an answer repeats. */
interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** Epoch seconds. */
  readonly created: number;
}

function usageOf(usage: Usage) {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}

const shownCall = ({ id, name, arguments: args }: ToolCallContent) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});

function wholeAnswer(head: AnswerHead, { text, calls, finish, usage }: Extract<ClientAnswer, { kind: "done" }>) {
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls.map(shownCall) }),
  };
  const only = { index: 0, message, logprobs: null, finish_reason: finish };
  return { ...head, object: "chat.completion", choices: [only], usage: usageOf(usage) };
}

const choice = (delta: Record<string, unknown>, finish: string | null) => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finish,
});
