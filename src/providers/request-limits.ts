import { modelName, type ModelRef } from "../types/run/model.ts";
import type { Failure } from "../types/run/run.ts";
import { BoundedMap } from "../utils/bounded-map.ts";
import type { PiModel } from "./pi.ts";

/** Limits for the requests of one model with one key, as refusals have shown them. */
export interface RequestLimits {
  /**
   * The most tokens of one request, as the provider named them. Requests are cut to this number. Nothing that lasts may
   * follow from it, such as a compaction, because the refusal may be that of another conversation.
   */
  readonly named: number | undefined;
  /** The most tokens of one answer, as the provider named them. */
  readonly answer: number | undefined;
  /** The most tokens of a request, by our estimate, as refused requests of this session showed. */
  shownTo(sessionId: string): number | undefined;
  /** A request of this session was sent and refused, which showed that it may have so many tokens. */
  refused(sessionId: string, tokens: number): void;
}

/** The limits of a model that refuses nothing. */
export const NO_LIMITS: RequestLimits = {
  named: undefined,
  answer: undefined,
  shownTo: () => undefined,
  refused: () => undefined,
};

/** Tokens. No model has a smaller window, so a smaller figure in a refusal has another meaning. */
export const LEAST_NAMED = 500;

/** Pairs of a model and a key, and sessions of each, that are remembered. */
const MOST_PAIRS = 200;
const MOST_SESSIONS = 500;
/**
 * Answers after which limits are forgotten: the server may have a larger window since. Where it has not, one request in so many is
 * refused.
 */
const KEPT_ANSWERS = 50;

/** The limits that sent requests have shown, by model and key. Only a refusal that names a figure teaches other sessions something. */
export class SeenLimits {
  readonly #pairs = new BoundedMap<string, PairLimits>(MOST_PAIRS);

  of(ref: ModelRef, profileId: string): RequestLimits {
    return this.#pairs.of(nameOf(ref, profileId), () => new PairLimits());
  }

  /** True when the refusal names a limit of requests that was not known. */
  failed(ref: ModelRef, profileId: string, failure: Partial<Failure>): boolean {
    return this.#pairs.of(nameOf(ref, profileId), () => new PairLimits()).failed(failure);
  }

  succeeded(ref: ModelRef, profileId: string): void {
    this.#pairs.get(nameOf(ref, profileId))?.succeeded();
  }
}

const nameOf = (ref: ModelRef, profileId: string): string => JSON.stringify([modelName(ref), profileId]);

class PairLimits implements RequestLimits {
  named: number | undefined;
  answer: number | undefined;
  readonly #sessions = new BoundedMap<string, number>(MOST_SESSIONS);
  #answers = 0;

  shownTo(sessionId: string): number | undefined {
    return this.#sessions.get(sessionId);
  }

  refused(sessionId: string, tokens: number): void {
    this.#sessions.set(sessionId, tokens);
  }

  failed({ kind, limitTokens, maxOutputTokens, isOfRequest }: Partial<Failure>): boolean {
    // The server may have been started anew, with other limits.
    if (kind === "network" || kind === "loading") this.#forget();
    if (kind === "context_overflow" && limitTokens !== undefined && limitTokens >= LEAST_NAMED) {
      const isNew = limitTokens !== this.named;
      [this.named, this.#answers] = [limitTokens, 0];
      return isNew;
    }
    // When input and answer share a limit, the tokens left for the answer differ for each request.
    if (kind === "output_limit" && limitTokens === undefined && isOfRequest !== true) this.answer = maxOutputTokens;
    return false;
  }

  succeeded(): void {
    this.#answers += 1;
    if (this.#answers >= KEPT_ANSWERS) this.#forget();
  }

  #forget(): void {
    [this.named, this.answer, this.#answers] = [undefined, undefined, 0];
    this.#sessions.clear();
  }
}

/** The model as requests are made for it: within the limits that its provider named. */
export function withinLimits(pi: PiModel, { named, answer }: RequestLimits): PiModel {
  const isSmaller = named !== undefined && named < pi.contextWindow;
  const contextWindow = isSmaller ? named : pi.contextWindow;
  const most = isSmaller ? Math.min(pi.maxTokens, Math.floor(contextWindow / 4)) : pi.maxTokens;
  const maxTokens = Math.min(most, answer ?? most);
  if (contextWindow === pi.contextWindow && maxTokens === pi.maxTokens) return pi;
  return { ...pi, contextWindow, maxTokens };
}
