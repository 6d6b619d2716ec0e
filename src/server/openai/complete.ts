import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RunStream } from "../../types/run/events.ts";
import type { ServerPorts } from "../options.ts";
import { RunText } from "../events/runs.ts";
import { disconnectSignal } from "../transport/disconnect.ts";
import { endError, EventWriter, wholeAnswer, type AnswerHead, type RunEnd } from "./answer.ts";
import { FAILED, sendError, stopped, type ApiError } from "./errors.ts";
import { requestedAgent, isOurModel, parseCompletion, type CompletionRequest } from "./request.ts";
import { findAgent, startRun, type StartPorts } from "./start.ts";

type Ports = StartPorts & Pick<ServerPorts, "log">;

/** Answers `POST /v1/chat/completions`: starts a run, and sends what it says as one answer or as a stream of events. */
export async function complete(request: FastifyRequest, reply: FastifyReply, ports: Ports): Promise<unknown> {
  const parsed = parseCompletion(request.body);
  if (parsed.kind === "bad") return sendError(reply, parsed.error);
  const { model } = parsed.request;
  const header = request.headers["x-openclaw-agent-id"];
  const requested = requestedAgent(model, typeof header === "string" && header !== "" ? header : undefined);
  const agent = isOurModel(model) ? findAgent(requested, ports.catalog) : undefined;
  if (agent === undefined) return sendError(reply, unknownModel(model));
  const gone = disconnectSignal(reply.raw);
  const stream = await startRun(parsed.request, agent, ports, gone);
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
