import type { Failure, FailureKind } from "../../types/run/run.ts";

/** The act after a failure and before the next attempt. */
export type Remedy =
  | "ask_owner"
  | "wait"
  | "wait_for_load"
  | "lower_thinking"
  | "drop_thinking"
  | "compact"
  | "truncate_results"
  | "shrink_window"
  | "lower_output"
  | "drop_images"
  | "strict_history"
  | "rotate_profile"
  | "fallback_model";

type Row = readonly [remedy: Remedy, limit: number];

const NEXT_KEY: Row = ["rotate_profile", 9];
const NEXT_MODEL: Row = ["fallback_model", 9];

/**
 * The remedies that a failure gets, in their order, and how often each: with one model where `PER_MODEL` names the
 * remedy, else within the run. A kind without a row does not compile.
 *
 * No remedy replays a turn: every attempt continues from the transcript, which has the results of tools and the first
 * part of a broken answer.
 */
export const POLICY: Readonly<Record<FailureKind, readonly Row[]>> = {
  auth: [NEXT_KEY, NEXT_MODEL],
  billing: [NEXT_KEY, NEXT_MODEL],
  // Another model comes only after the owner, who decides between waiting, paying and a lesser answer. Then a
  // reservation that is too dear for one model may fit another's price, and asking the meter again costs nothing.
  budget: [["ask_owner", 8], NEXT_MODEL],
  rate_limit: [["rotate_profile", 1], ["wait", 2], NEXT_MODEL],
  overloaded: [["wait", 2], ["rotate_profile", 1], NEXT_MODEL],
  loading: [["wait_for_load", 24], NEXT_MODEL],
  timeout: [["rotate_profile", 1], ["wait", 1], NEXT_MODEL],
  network: [["wait", 3], NEXT_MODEL],
  context_overflow: [["compact", 3], ["truncate_results", 1], ["drop_images", 2], ["shrink_window", 5], NEXT_MODEL],
  // A limit in bytes: images have the most, and a summary of the conversation would be for good.
  request_size: [["drop_images", 2], ["truncate_results", 1], ["shrink_window", 5], NEXT_MODEL],
  output_limit: [["lower_output", 2], NEXT_MODEL],
  thinking_unsupported: [["lower_thinking", 5], NEXT_MODEL],
  thinking_refused: [["drop_thinking", 2], NEXT_MODEL],
  // Another model may take an image that is too large for this one. When none does, the text is answered without the
  // image.
  image_size: [["drop_images", 1], NEXT_MODEL, ["drop_images", 2]],
  image_broken: [["drop_images", 2], NEXT_MODEL],
  role_ordering: [["strict_history", 1], NEXT_MODEL],
  call_ordering: [["strict_history", 1], NEXT_MODEL],
  format: [["strict_history", 1], NEXT_MODEL],
  refusal: [],
  cut_off: [["wait", 2], NEXT_MODEL],
  compaction_failure: [["truncate_results", 1], ["drop_images", 2], ["shrink_window", 5], NEXT_MODEL],
  tool_loop: [],
  engine: [],
  blocked: [],
  model_missing: [NEXT_MODEL],
  unknown: [["wait", 1], ["rotate_profile", 1], NEXT_MODEL],
};

/** Remedies that each model gets anew: it may think, see and hold more. A compaction changes the transcript for all. */
const PER_MODEL: ReadonlySet<Remedy> = new Set([
  "wait",
  "wait_for_load",
  "rotate_profile",
  "lower_thinking",
  "drop_thinking",
  "strict_history",
  "drop_images",
  "truncate_results",
  "shrink_window",
  "lower_output",
]);

/**
 * Whether a provider judges the request itself by this kind, so that the same request would be refused again. No such
 * request is sent twice, and no remedy that leaves the request as it is applies to such a failure. The other kinds
 * depend on the key, the time or the server.
 */
export const isOfRequest = (kind: FailureKind): boolean => OF_REQUEST[kind];

const OF_REQUEST: Readonly<Record<FailureKind, boolean>> = {
  auth: false,
  billing: false,
  budget: false,
  rate_limit: false,
  overloaded: false,
  loading: false,
  timeout: false,
  context_overflow: true,
  output_limit: true,
  thinking_unsupported: true,
  thinking_refused: true,
  request_size: true,
  image_size: true,
  image_broken: true,
  role_ordering: true,
  call_ordering: true,
  format: true,
  refusal: true,
  cut_off: false,
  network: false,
  compaction_failure: true,
  tool_loop: false,
  engine: false,
  blocked: false,
  model_missing: true,
  unknown: false,
};

/** Remedies after which the same model gets the same request. */
const REPEATS: ReadonlySet<Remedy> = new Set(["ask_owner", "wait", "wait_for_load", "rotate_profile"]);

/** The remedies that one run has tried so far, and the place that it has come to. Plain data. */
export interface PolicyState {
  readonly used: Readonly<Partial<Record<Remedy, number>>>;
  /** Index into the candidates. */
  readonly candidate: number;
  /** Index into the candidate's keys. */
  readonly profile: number;
}

/** How many models there are to try, and how many keys of the present one. */
export interface Chances {
  readonly candidates: number;
  readonly profiles: number;
  /** How many further keys may be asked after this kind of failure, where the config says so. */
  readonly rotations?: number | undefined;
  /** Milliseconds before the next try after this kind of failure, where the config says so. */
  readonly backoffMs?: number | undefined;
  /** Remedies that would change nothing in the refused request; none when unset. */
  readonly useless?: ReadonlySet<Remedy>;
  /** Whether the refused request had images; assumed when unset. */
  readonly hasImages?: boolean;
  /** Whether the present turn has images itself. */
  readonly imagesAsked?: boolean;
}

export type PolicyStep =
  | { readonly kind: "retry"; readonly remedy: Remedy; readonly waitMs: number; readonly state: PolicyState }
  | { readonly kind: "give_up" };

export const FRESH: PolicyState = { used: {}, candidate: 0, profile: 0 };

/** The state in which a useless remedy is not taken again. */
export const without = (state: PolicyState, remedy: Remedy): PolicyState => ({
  ...state,
  used: { ...state.used, [remedy]: Number.POSITIVE_INFINITY },
});

/** The state after an answer or a tool's result came through: a long run may meet a passing error more than once. */
export function progressed(state: PolicyState): PolicyState {
  if (state.used.wait === undefined) return state;
  const { wait: _, ...used } = state.used;
  return { ...state, used };
}

const BACKOFF_MS = 1000;
/**
 * The longest wait in milliseconds. A provider that asks for a longer pause is not waited for: the next model is asked,
 * and without one the run ends and the user is informed.
 */
const LONGEST_WAIT_MS = 60_000;
/**
 * The longest pause between two tries at a server that loads its model, in milliseconds: with the policy's 24 tries,
 * five and a half minutes in all.
 */
const LONGEST_LOAD_PAUSE_MS = 15_000;

/** The next step after a failure. Pure; every chain of failures without progress ends in `give_up`. */
export function next(state: PolicyState, failure: Failure, chances: Chances): PolicyStep {
  for (const [remedy, most] of POLICY[failure.kind]) {
    const limit = remedy === "rotate_profile" ? (chances.rotations ?? most) : most;
    const used = state.used[remedy] ?? 0;
    if (used >= limit || !applies(remedy, { state, failure, chances })) continue;
    return { kind: "retry", remedy, waitMs: waitFor(remedy, used, { failure, chances }), state: after(remedy, state) };
  }
  return { kind: "give_up" };
}

interface Case {
  readonly state: PolicyState;
  readonly failure: Failure;
  readonly chances: Chances;
}

function applies(remedy: Remedy, { state, failure, chances }: Case): boolean {
  if (isOfRequest(failure.kind) && (REPEATS.has(remedy) || chances.useless?.has(remedy) === true)) return false;
  if (remedy === "fallback_model") return state.candidate + 1 < chances.candidates;
  if (remedy === "rotate_profile") return state.profile + 1 < chances.profiles;
  if (remedy === "drop_images") return mayDrop(state, chances);
  if (remedy === "wait") return (failure.retryAfterMs ?? 0) <= LONGEST_WAIT_MS;
  return true;
}

/** The images of earlier turns are dropped first, then those of the present turn. */
function mayDrop({ used }: PolicyState, { imagesAsked = false, hasImages = true }: Chances): boolean {
  return hasImages && (imagesAsked || used.drop_images === undefined);
}

function after(remedy: Remedy, state: PolicyState): PolicyState {
  const used = { ...state.used, [remedy]: (state.used[remedy] ?? 0) + 1 };
  if (remedy === "rotate_profile") return { ...state, used, profile: state.profile + 1 };
  if (remedy !== "fallback_model") return { ...state, used };
  return movedTo({ ...state, used }, { candidate: state.candidate + 1, profile: 0 });
}

/** The state at another model or key; another model gets its own remedies anew. */
export function movedTo(state: PolicyState, place: Pick<PolicyState, "candidate" | "profile">): PolicyState {
  if (place.candidate === state.candidate) return { ...state, ...place };
  const kept = Object.entries(state.used).filter(([name]) => !isPerModel(name));
  return { used: Object.fromEntries(kept), ...place };
}

const isPerModel = (name: string): boolean => [...PER_MODEL].some((remedy) => remedy === name);

function waitFor(remedy: Remedy, used: number, { failure, chances }: Omit<Case, "state">): number {
  if (remedy === "rotate_profile") return chances.backoffMs ?? 0;
  if (remedy === "wait_for_load") return Math.min(LONGEST_LOAD_PAUSE_MS, 2 * BACKOFF_MS * 2 ** used);
  if (remedy !== "wait") return 0;
  return failure.retryAfterMs ?? chances.backoffMs ?? BACKOFF_MS * 2 ** used;
}
