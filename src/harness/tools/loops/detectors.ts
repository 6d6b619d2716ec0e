import type { LoopSettings } from "../../../types/loops.ts";

/** A finished call as the detectors see it. */
export interface PastCall {
  readonly tool: string;
  /** Tool and arguments; of a call that was refused, the tool alone. */
  readonly key: string;
  readonly outcome: string;
  /** `refused`: its arguments did not fit. `unknown`: there is no such tool. Neither ran. */
  readonly kind: "ran" | "refused" | "unknown";
  /** The call was new, succeeded, and its tool changes something: what is looked at again may differ now. */
  readonly hasEffect: boolean;
  /** How often this call gave this outcome in a row, other calls between them aside. */
  readonly times: number;
  /** It looks at a background process. */
  readonly isPoll: boolean;
}

/** What the detectors look at: the latest calls, the oldest first, and for how many turns nothing was new. */
export interface LoopView {
  readonly calls: readonly PastCall[];
  readonly staleTurns: number;
}

export type LoopDetectorName =
  | "unknown_tool"
  | "global_circuit_breaker"
  | "known_poll_no_progress"
  | "ping_pong"
  | "generic_repeat"
  | "argument_churn"
  | "no_news";

/** A shape of a loop. Pure. */
export interface LoopDetector {
  readonly name: LoopDetectorName;
  readonly isOn: (limits: LoopSettings) => boolean;
  /** Steps of the loop that the latest call continues; 0 when it continues none. */
  readonly count: (view: LoopView) => number;
  /** The count at which the model is warned; it is not when unset. */
  readonly warnAt?: (limits: LoopSettings) => number;
  /** The count after which a further call is blocked; it never is when unset. */
  readonly stopAt?: (limits: LoopSettings) => number;
}

const always = (): boolean => true;
const warning = (limits: LoopSettings): number => limits.warningThreshold;
const critical = (limits: LoopSettings): number => Math.max(limits.criticalThreshold, limits.warningThreshold + 1);

/** In their order: the first one that has something to say is named. */
export const DETECTORS: readonly LoopDetector[] = [
  {
    name: "unknown_tool",
    isOn: always,
    count: ofLast((call) => (call.kind === "unknown" ? call.times : 0)),
    stopAt: (limits) => limits.unknownToolThreshold,
  },
  {
    name: "global_circuit_breaker",
    isOn: always,
    count: ofLast((call) => call.times),
    stopAt: (limits) => limits.globalCircuitBreakerThreshold,
  },
  {
    name: "known_poll_no_progress",
    isOn: ({ detectors }) => detectors.knownPollNoProgress,
    count: ofLast((call) => (call.isPoll ? call.times : 0)),
    warnAt: warning,
    stopAt: critical,
  },
  {
    name: "ping_pong",
    isOn: ({ detectors }) => detectors.pingPong,
    count: alternating,
    warnAt: warning,
    stopAt: critical,
  },
  {
    name: "generic_repeat",
    isOn: ({ detectors }) => detectors.genericRepeat,
    count: ofLast((call) => call.times),
    warnAt: warning,
    stopAt: critical,
  },
  { name: "argument_churn", isOn: ({ detectors }) => detectors.genericRepeat, count: churning, warnAt: warning },
  {
    name: "no_news",
    isOn: always,
    count: ({ staleTurns }) => staleTurns,
    warnAt: (limits) => limits.globalCircuitBreakerThreshold,
    stopAt: (limits) => 2 * limits.globalCircuitBreakerThreshold,
  },
];

function ofLast(count: (call: PastCall) => number): (view: LoopView) => number {
  return ({ calls }) => {
    const last = calls.at(-1);
    return last === undefined ? 0 : count(last);
  };
}

const isSame = (a: PastCall, b: PastCall): boolean => a.key === b.key && a.outcome === b.outcome;

/** The length of the end in which two calls alternate, each with one outcome. */
function alternating({ calls }: LoopView): number {
  const [other, last] = calls.slice(-2);
  if (other === undefined || last === undefined || other.key === last.key) return 0;
  let length = 2;
  for (let at = calls.length - 3; at >= 0; at -= 1) {
    const call = calls[at];
    const twin = length % 2 === 0 ? last : other;
    if (call === undefined || !isSame(call, twin)) break;
    length += 1;
  }
  // A, B alone, or A, B, A, is no pattern yet.
  return length < 4 ? 0 : length;
}

/** The length of the end in which one tool gave one outcome whatever its arguments were, and changed nothing. */
function churning({ calls }: LoopView): number {
  const last = calls.at(-1);
  if (last === undefined || last.kind !== "ran" || last.hasEffect) return 0;
  let length = 0;
  const keys = new Set<string>();
  for (const call of calls.toReversed()) {
    if (call.tool !== last.tool || call.outcome !== last.outcome || call.hasEffect) break;
    keys.add(call.key);
    length += 1;
  }
  return keys.size > 1 ? length : 0;
}
