import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { EmbeddingOutcome } from "../../types/media/embedding.ts";
import type { ServerPorts } from "../options.ts";
import { headerOf } from "./conversation.ts";
import { badRequest, sendError, type ApiError } from "./errors.ts";
import { namedModel } from "./models.ts";
import { isApiError, bodyProblem } from "./request.ts";

/** Texts of one request. */
const MOST_TEXTS = 2048;

const embeddingRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MOST_TEXTS)], {
    error: "must be a text or a list of texts; tokens are not taken",
  }),
  dimensions: z.int().min(1).max(8192).nullish(),
  encoding_format: z.enum(["float", "base64"]).nullish(),
});

type Ports = Pick<ServerPorts, "embed" | "catalog">;

/**
 * Answers `POST /v1/embeddings` with vectors of the texts. `model` names an agent, whose memory has the provider, or the
 * provider's model; `x-openclaw-model` names a model too.
 */
export async function answerEmbeddings(
  request: FastifyRequest,
  reply: FastifyReply,
  ports: Ports,
): Promise<FastifyReply> {
  const parsed = embeddingRequest.safeParse(request.body);
  if (!parsed.success) return sendError(reply, bodyProblem(parsed.error));
  const { model, input, dimensions, encoding_format: format } = parsed.data;
  const { catalog } = ports;
  const header = headerOf(request, "x-openclaw-agent-id");
  // A client may name the model that makes the vectors in the place of an agent.
  const isAgents = /^(?:openclaw|agent:)/.test(model);
  const named = namedModel(isAgents ? model : "openclaw", header, catalog);
  if (isApiError(named)) return sendError(reply, named);
  const wanted = headerOf(request, "x-openclaw-model") ?? (isAgents ? undefined : model);
  const outcome = await ports.embed({
    agentId: named.agent,
    texts: [input].flat(),
    ...(wanted !== undefined && { model: wanted }),
    ...(typeof dimensions === "number" && { dimensions }),
  });
  if (outcome.kind !== "done") return sendError(waiting(outcome, reply), errorOf(outcome));
  const { vectors, tokens } = outcome;
  const shown = format === "base64" ? base64Of : (vector: Float32Array) => [...vector];
  return reply.send({
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: shown(vector) })),
    model: isAgents ? model : outcome.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

/** The numbers as the official clients ask for them: 32 bits each, the lowest byte first. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [at, number] of vector.entries()) bytes.writeFloatLE(number, at * 4);
  return bytes.toString("base64");
}

type Unmade = Exclude<EmbeddingOutcome, { kind: "done" }>;

function waiting(outcome: Unmade, reply: FastifyReply): FastifyReply {
  const ms = outcome.kind === "failed" ? outcome.retryAfterMs : undefined;
  return ms === undefined ? reply : reply.header("retry-after", String(Math.ceil(ms / 1000)));
}

function errorOf(outcome: Unmade): ApiError {
  const message = `No vectors: ${outcome.why}.`;
  switch (outcome.kind) {
    case "none":
      return { ...badRequest(message, "model"), code: "embeddings_not_configured" };
    case "refused":
      return { status: 429, message: outcome.why, type: "rate_limit_error", code: "budget" };
    case "failed": {
      const isBusy = outcome.retryAfterMs !== undefined;
      const type = isBusy ? "rate_limit_error" : "server_error";
      return { status: isBusy ? 429 : 502, message, type, code: "embeddings_failed" };
    }
  }
}
