import type { Failure, FailureKind } from "../types/run.ts";

/** What is done about a failure before the next attempt. */
export type Remedy = "wait" | "lower_thinking" | "compact" | "shrink_window" | "drop_images" | "fallback_model";

type Row = readonly [remedy: Remedy, limit: number];

/**
 * Which remedies a failure gets, in their order, and how often each within one run.
 * A kind without a row does not compile. Keys and more candidates join the rows as they come.
 */
export const POLICY: Readonly<Record<FailureKind, readonly Row[]>> = {
  auth: [["fallback_model", 9]],
  billing: [["fallback_model", 9]],
  rate_limit: [
    ["wait", 2],
    ["fallback_model", 9],
  ],
  overloaded: [
    ["wait", 2],
    ["fallback_model", 9],
  ],
  timeout: [
    ["wait", 1],
    ["fallback_model", 9],
  ],
  network: [
    ["wait", 3],
    ["fallback_model", 9],
  ],
  context_overflow: [
    ["compact", 3],
    ["shrink_window", 3],
  ],
  thinking_unsupported: [["lower_thinking", 5]],
  image_size: [["drop_images", 1]],
  role_ordering: [["fallback_model", 9]],
  call_ordering: [["fallback_model", 9]],
  format: [["fallback_model", 9]],
  refusal: [],
  cut_off: [
    ["wait", 1],
    ["fallback_model", 9],
  ],
  compaction_failure: [["shrink_window", 3]],
  tool_loop: [],
  model_missing: [["fallback_model", 9]],
  unknown: [
    ["wait", 1],
    ["fallback_model", 9],
  ],
};

/** What one run has tried so far. */
export interface PolicyState {
  readonly used: Readonly<Partial<Record<Remedy, number>>>;
  /** Index into the candidates. */
  readonly candidate: number;
  /** A tool with side effects has run: the turn goes on from its results and is never replayed. */
  readonly touched: boolean;
}

export type Step =
  | { readonly kind: "retry"; readonly remedy: Remedy; readonly waitMs: number; readonly state: PolicyState }
  | { readonly kind: "give_up" };

export const FRESH: PolicyState = { used: {}, candidate: 0, touched: false };

/** The state in which a remedy, found to be of no use, is not taken again. */
export const without = (state: PolicyState, remedy: Remedy): PolicyState => ({
  ...state,
  used: { ...state.used, [remedy]: Number.POSITIVE_INFINITY },
});

const BACKOFF_MS = 1000;
/** A provider that asks for a longer pause is not waited for: the user is told instead. */
const LONGEST_WAIT_MS = 60_000;

/** The next step after a failure. Pure; every chain of failures ends in `give_up`. */
export function next(state: PolicyState, failure: Failure, candidates: number): Step {
  for (const [remedy, limit] of POLICY[failure.kind]) {
    const used = state.used[remedy] ?? 0;
    if (used >= limit || !applies(remedy, state, failure, candidates)) continue;
    const candidate = remedy === "fallback_model" ? state.candidate + 1 : state.candidate;
    const used2 = { ...state.used, [remedy]: used + 1 };
    return {
      kind: "retry",
      remedy,
      waitMs: waitFor(remedy, used, failure),
      state: { ...state, used: used2, candidate },
    };
  }
  return { kind: "give_up" };
}

function applies(remedy: Remedy, state: PolicyState, failure: Failure, candidates: number): boolean {
  if (remedy === "fallback_model") return state.candidate + 1 < candidates;
  if (remedy === "wait") return (failure.retryAfterMs ?? 0) <= LONGEST_WAIT_MS;
  return true;
}

function waitFor(remedy: Remedy, used: number, failure: Failure): number {
  if (remedy !== "wait") return 0;
  return failure.retryAfterMs ?? BACKOFF_MS * 2 ** used;
}
