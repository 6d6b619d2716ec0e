import { emptyUsage, type ContributorPlace, type JobFailure } from "openclaw/plugin-sdk";
import type { JobAnswer, VectorSettings } from "./job.ts";

/** Reserves the cost of requests for vectors. */
export type Reserve = NonNullable<ContributorPlace["reserve"]>;
type Planned = Parameters<Reserve>[0];

/** Largest size of a request that is about to be sent. */
export interface Request {
  readonly settings: VectorSettings;
  readonly agent: Planned["agentId"] | undefined;
  readonly bytes: number;
}

/** Runs a job that asks for vectors, within the budgets. `refused`: why it may not ask. */
export async function metered(
  reserve: Reserve,
  { settings, agent, bytes }: Request,
  run: () => Promise<JobAnswer | JobFailure>,
): Promise<JobAnswer | JobFailure | { readonly refused: string }> {
  const { provider, model: id, price } = settings;
  const estimatedTokens = Math.ceil(bytes / 4);
  // A token has a byte at least.
  const most = { inputTokens: bytes, outputTokens: 0, leastOutputTokens: 0 };
  const reservation = await reserve({
    cause: "plugin",
    plugin: "memory-core",
    model: { provider, id },
    profileId: "memorySearch",
    ...(agent !== undefined && { agentId: agent }),
    estimatedInputTokens: estimatedTokens,
    maxOutputTokens: 0,
    highestCost: bytes * (price ?? 0),
    most: { ...most, ...(price !== undefined && { price: { input: price, output: 0 } }) },
  });
  if (reservation.kind === "refused") return { refused: reservation.reason };
  const outcome = await run();
  // A thread that ended may have sent its request.
  const { tokens = 0, isEstimate } =
    "state" in outcome ? (outcome.vectors ?? {}) : { tokens: estimatedTokens, isEstimate: true };
  const cost = tokens * (price ?? 0);
  const isAnswered = "state" in outcome && outcome.vectors?.failed === undefined;
  reservation.settle({
    outcome: isAnswered ? "answered" : "failed",
    usage: {
      ...emptyUsage(),
      input: tokens,
      totalTokens: tokens,
      cost: { ...emptyUsage().cost, input: cost, total: cost },
    },
    isEstimate: isEstimate === true,
  });
  return outcome;
}
