import { createHash } from "node:crypto";
import { hasImages } from "../../history/passes/images.ts";
import { LEAST_NAMED } from "../../providers/request-limits.ts";
import type { ChatMessage, ThinkLevel } from "../../types/run/model.ts";
import type { Failure } from "../../types/run/run.ts";
import { isOfRequest } from "./policy.ts";

/** A request as one call of a model sends it. */
export interface SentRequest {
  readonly model: string;
  readonly systemPrompt: string;
  readonly messages: readonly ChatMessage[];
  /** The level of thinking that the model is asked for, and the form in which the request has it. */
  readonly thinking: ThinkLevel;
  readonly thinkingSent: string;
  /** Tokens that the answer may have; as many as the model can write when undefined. */
  readonly maxOutput: number | undefined;
  /** `refusedThinking` of the policy's model. */
  readonly refusedThinking: number | undefined;
  /** Estimated tokens, with the system prompt and the tools. */
  readonly tokens: number;
  /** Tokens of the window that the request was made for. */
  readonly window: number;
}

/** The requests of a run that a provider refused for their content. None of them is sent twice. */
export class RefusedRequests {
  readonly #failures = new Map<string, Failure>();

  note(sent: SentRequest, failure: Failure): void {
    if (isOfRequest(failure.kind)) this.#failures.set(nameOf(sent), failure);
  }

  /** Why this request was refused; undefined when it was not. */
  failureOf(sent: SentRequest): Failure | undefined {
    return this.#failures.size === 0 ? undefined : this.#failures.get(nameOf(sent));
  }
}

function nameOf({ model, systemPrompt, messages, thinkingSent, maxOutput }: SentRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([model, systemPrompt, messages, thinkingSent, maxOutput]))
    .digest("base64");
}

/** The part of a refused request that may still be too much; more of the request certainly is. */
const JUST_BELOW = 0.95;

/**
 * The most tokens, by the gateway's estimate, that one request may have, as a refusal shows; undefined when the refusal
 * is about something else. Providers count differently from the estimate, so their figures count as a share of the
 * request. The estimate of an image is a guess, so a request with images shows only the limit that the provider names.
 */
export function limitShownBy({ kind, limitTokens, requestedTokens }: Failure, sent: SentRequest): number | undefined {
  if (kind !== "context_overflow") return undefined;
  const isNamed = limitTokens !== undefined && limitTokens >= LEAST_NAMED;
  if (sent.messages.some(hasImages)) return isNamed ? limitTokens : undefined;
  const below = Math.floor(sent.tokens * JUST_BELOW);
  if (!isNamed) return below;
  if (requestedTokens === undefined || requestedTokens <= limitTokens) return Math.min(limitTokens, below);
  return Math.floor(sent.tokens * (limitTokens / requestedTokens));
}
