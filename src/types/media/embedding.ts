import type { AgentId } from "../ids.ts";

/** Texts of a client that are to become vectors. */
export interface EmbeddingRequest {
  readonly agentId: AgentId;
  readonly texts: readonly string[];
  /** The model; the one of the agent's memory when unset. */
  readonly model?: string;
  /** Numbers of a vector; as the config says when unset. */
  readonly dimensions?: number;
}

export type EmbeddingOutcome =
  | {
      readonly kind: "done";
      /** Vectors of length 1 in the order of the texts. */
      readonly vectors: readonly Float32Array[];
      readonly model: string;
      readonly tokens: number;
    }
  /** The agent's memory has no provider of vectors. */
  | { readonly kind: "none"; readonly why: string }
  /** A budget does not allow the request. */
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string; readonly retryAfterMs?: number };
