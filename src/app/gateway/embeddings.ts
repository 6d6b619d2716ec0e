import { embed, EmbedError } from "../../../extensions/memory-core/index/embeddings.ts";
import type { VectorSettings } from "../../../extensions/memory-core/job.ts";
import { Memory } from "../../../extensions/memory-core/memory.ts";
import type { EmbeddingOutcome, EmbeddingRequest } from "../../types/media/embedding.ts";
import type { PlannedCall } from "../../types/run/model-meter.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Live } from "../live.ts";

/** Milliseconds for one answer of the endpoint. */
const ENDPOINT_MS = 60_000;

type Places = Pick<Live, "agents" | "reserve"> & { readonly paths: Pick<Live["paths"], "stateDir"> };

/** Makes vectors of a client's texts, by the provider of the agent's memory and within the budgets. */
export async function embedFor(request: EmbeddingRequest, live: Places): Promise<EmbeddingOutcome> {
  const agent = live.agents.find(({ id }) => id === request.agentId);
  const own = agent && new Memory(live.paths.stateDir).placeOf(agent).vectors;
  if (!own) return { kind: "none", why: whyNone(agent) };
  const { model = own.model, dimensions = own.dimensions, texts } = request;
  const settings = { ...own, model, ...(dimensions !== undefined && { dimensions }) };
  const reservation = await live.reserve(plannedFor(settings, request));
  if (reservation.kind === "refused") return { kind: "refused", why: reservation.reason };
  const settle = (outcome: "answered" | "failed", { tokens, isEstimate }: Tokens) => {
    const total = tokens * (settings.price ?? 0);
    const cost = { ...emptyUsage().cost, input: total, total };
    const usage = { ...emptyUsage(), input: tokens, totalTokens: tokens, cost };
    reservation.settle({ outcome, usage, isEstimate: isEstimate === true });
  };
  try {
    const { vectors, counted } = await embed(settings, texts, { kind: "document", ms: ENDPOINT_MS });
    settle("answered", counted);
    return { kind: "done", vectors, model, tokens: counted.tokens };
  } catch (error) {
    if (!(error instanceof EmbedError)) {
      settle("failed", { tokens: 0 });
      throw error;
    }
    settle("failed", error.counted);
    const { message: why, retryAfterMs } = error;
    return { kind: "failed", why, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
}

interface Tokens {
  readonly tokens: number;
  readonly isEstimate?: true;
}

const whyNone = (agent: AgentSettings | undefined): string =>
  agent?.memorySearch?.vectorsProblem ??
  "the memory of the agent has no provider of vectors; set memorySearch.provider";

function plannedFor({ provider, model: id, price }: VectorSettings, { agentId, texts }: EmbeddingRequest): PlannedCall {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  // A token has a byte at least.
  const most = { inputTokens: bytes, outputTokens: 0, leastOutputTokens: 0 };
  return {
    cause: "api",
    agentId,
    model: { provider, id },
    profileId: "memorySearch",
    estimatedInputTokens: Math.ceil(bytes / 4),
    maxOutputTokens: 0,
    highestCost: bytes * (price ?? 0),
    most: { ...most, ...(price !== undefined && { price: { input: price, output: 0 } }) },
  };
}
