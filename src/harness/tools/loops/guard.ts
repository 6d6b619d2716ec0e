import { LOOP_DEFAULTS } from "../../../tools/loop-config.ts";
import type { LoopSettings } from "../../../types/loops.ts";
import { forgetOldest } from "../../../utils/forget-oldest.ts";

/** The most calls, and pairs of a call and its outcome, that are remembered; the oldest are forgotten. */
const MOST_REMEMBERED = 1000;

/** A finished call as the guard takes it. */
export type SeenCall = Pick<PastCall, "tool" | "key" | "outcome" | "kind" | "isPoll"> & {
  /** Whether the tool changes something and this call succeeded. */
  readonly isEffective: boolean;
};

/** A call that the model wants to make. */
export type WantedCall = Pick<PastCall, "tool" | "key">;

/** Why the guard ends a run, or blocks calls. */
export interface LoopFound {
  readonly detector: LoopDetectorName | "compaction_loop_persisted";
  readonly tool: string;
  readonly count: number;
}

/** The verdict of the guard on a result. */
export interface LoopVerdict extends LoopFound {
  /** `last`: the model has one more turn. */
  readonly level: "warning" | "last";
}

/**
 * Notices a model that repeats its calls without progress. The first time that a limit is passed, the model's calls are
 * blocked and it gets one more turn; the second time the run is to end.
 */
export class LoopGuard {
  readonly #limits: LoopSettings;
  #calls: readonly PastCall[] = [];
  /** Pairs of a call and its outcome, and calls, in the order in which they came last. */
  readonly #pairs = new Map<string, true>();
  readonly #keys = new Map<string, true>();
  readonly #ofTurn = new Set<string>();
  #turn = 1;
  /** The last turn that brought a pair for the first time. */
  #freshAt = 1;
  /** The turn in which a limit was passed for the first time. */
  #struckAt: number | undefined;
  /** The pair of the calls since a compaction while they are all the same, and their number. */
  #sinceCompaction: { readonly pair?: string; readonly times: number } | undefined;
  /** Why the run is to end; unset while it may go on. */
  stoppedBy: LoopFound | undefined;

  constructor(limits: LoopSettings = LOOP_DEFAULTS) {
    this.#limits = limits;
  }

  /** Takes a finished call. The same pair counts once a turn. Undefined when the guard has no verdict on the call. */
  saw(seen: SeenCall): LoopVerdict | undefined {
    const pair = pairOf(seen);
    if (!this.#limits.enabled || this.#ofTurn.has(pair)) return undefined;
    const wasKnown = this.#pairs.has(pair);
    if (!wasKnown) this.#freshAt = this.#turn;
    this.#watchCompaction(seen, pair, wasKnown);
    this.#add(seen);
    if (seen.kind !== "ran") {
      const found = this.#over(this.#calls, this.#turn - this.#freshAt);
      if (found) return this.#strike(found);
    }
    return this.#warning();
  }

  /** Judges the calls of an answer before any of them runs. A limit that one of them passes blocks them all. */
  block(wanted: readonly WantedCall[]): LoopFound | undefined {
    if (!this.#limits.enabled) return undefined;
    const isNews = wanted.some(({ key }) => !this.#keys.has(key));
    for (const call of wanted) {
      const again = this.#again(call);
      const found = again && this.#over([...this.#calls, again], isNews ? 0 : this.#turn - this.#freshAt);
      if (!found) continue;
      this.#strike(found);
      // A blocked call stays a part of the loop.
      this.#add(again);
      return found;
    }
    return undefined;
  }

  /** Called at the end of a turn: the model has seen the results of the turn and may do better. */
  endTurn(): void {
    if (this.#ofTurn.size > 0) this.#turn += 1;
    this.#ofTurn.clear();
  }

  /** Called when the conversation was summarised: a model that repeats itself once more does so without knowing it. */
  compacted(): void {
    this.#sinceCompaction = { times: 0 };
  }

  #add({ tool, key, outcome, kind, isPoll, ...more }: SeenCall | PastCall): void {
    const isFirst = !this.#keys.has(key);
    const hasEffect = "isEffective" in more && more.isEffective && isFirst;
    const times = this.#timesOf(key, outcome);
    const { historySize, criticalThreshold, globalCircuitBreakerThreshold } = this.#limits;
    // A history that is shorter than a limit could never reach it.
    const most = Math.max(historySize, criticalThreshold, globalCircuitBreakerThreshold) + 1;
    this.#calls = [...this.#calls, { tool, key, outcome, kind, isPoll, hasEffect, times }].slice(-most);
    const pair = pairOf({ key, outcome });
    this.#ofTurn.add(pair);
    remember(this.#pairs, pair);
    remember(this.#keys, key);
  }

  #timesOf(key: string, outcome: string): number {
    const at = this.#calls.findLastIndex((call) => call.key === key);
    const before = this.#calls[at];
    if (before?.outcome !== outcome) return 1;
    return this.#calls.slice(at + 1).some(({ hasEffect }) => hasEffect) ? 1 : before.times + 1;
  }

  /** The call as it would be if its outcome is the same once more; undefined for a call that was not made before. */
  #again({ tool, key }: WantedCall): PastCall | undefined {
    const before = this.#calls.findLast((call) => call.key === key);
    if (before) return { ...before, hasEffect: false, times: this.#timesOf(key, before.outcome) };
    // A loop may be longer than the history: a call of long ago is not new either.
    if (!this.#keys.has(key)) return undefined;
    return { tool, key, outcome: "", kind: "ran", isPoll: false, hasEffect: false, times: 1 };
  }

  /** The first detector whose limit the calls pass. */
  #over(calls: readonly PastCall[], staleTurns: number): LoopFound | undefined {
    const last = calls.at(-1);
    if (!last) return undefined;
    for (const { name, isOn, count, stopAt } of DETECTORS) {
      if (!stopAt || !isOn(this.#limits)) continue;
      const reached = count({ calls, staleTurns });
      const most = stopAt(this.#limits);
      // A refused call has done nothing: it counts when it comes, and not only when it is asked for again.
      if (last.kind === "ran" ? reached > most : reached >= most)
        return { detector: name, tool: last.tool, count: most };
    }
    return undefined;
  }

  #strike(found: LoopFound): LoopVerdict {
    if (this.#struckAt === undefined) this.#struckAt = this.#turn;
    else if (this.#struckAt !== this.#turn) this.stoppedBy ??= found;
    return { ...found, level: "last" };
  }

  #warning(): LoopVerdict | undefined {
    const view = { calls: this.#calls, staleTurns: this.#turn - this.#freshAt };
    const tool = this.#calls.at(-1)?.tool ?? "";
    for (const { name, isOn, count, warnAt } of DETECTORS) {
      if (!warnAt || !isOn(this.#limits)) continue;
      const reached = count(view);
      if (reached === warnAt(this.#limits)) return { level: "warning", detector: name, tool, count: reached };
    }
    return undefined;
  }

  #watchCompaction({ tool, isPoll }: SeenCall, pair: string, wasKnown: boolean): void {
    const since = this.#sinceCompaction;
    if (!since) return;
    const isSame = since.pair === undefined ? wasKnown && !isPoll : since.pair === pair;
    const times = since.times + 1;
    this.#sinceCompaction = isSame ? { pair, times } : undefined;
    if (isSame && times >= this.#limits.postCompactionWindow)
      this.stoppedBy ??= { detector: "compaction_loop_persisted", tool, count: times };
  }
}

const pairOf = ({ key, outcome }: Pick<PastCall, "key" | "outcome">): string => `${key} ${outcome}`;

function remember(map: Map<string, true>, key: string): void {
  map.delete(key);
  map.set(key, true);
  forgetOldest(map, MOST_REMEMBERED);
}

/** A finished call as the detectors see it. */
interface PastCall {
  readonly tool: string;
  /** The identity of the call: tool and arguments; of a call that was refused, the tool alone. */
  readonly key: string;
  readonly outcome: string;
  /** `refused`: the arguments did not fit. `unknown`: there is no such tool. Neither kind of call ran. */
  readonly kind: "ran" | "refused" | "unknown";
  /**
   * Whether the call was new and succeeded, and its tool changes something: a later look at the same thing may differ
   * now.
   */
  readonly hasEffect: boolean;
  /** How often this call gave this outcome in a row, other calls between them aside. */
  readonly times: number;
  /** Whether the call looks at a background process. */
  readonly isPoll: boolean;
}

/** The view of the detectors: the latest calls, the oldest first, and for how many turns nothing was new. */
interface LoopView {
  readonly calls: readonly PastCall[];
  readonly staleTurns: number;
}

type LoopDetectorName =
  | "unknown_tool"
  | "global_circuit_breaker"
  | "known_poll_no_progress"
  | "ping_pong"
  | "generic_repeat"
  | "argument_churn"
  | "no_news";

/** A shape of a loop. Pure. */
interface LoopDetector {
  readonly name: LoopDetectorName;
  readonly isOn: (limits: LoopSettings) => boolean;
  /** Steps of the loop that the latest call continues; 0 when it continues none. */
  readonly count: (view: LoopView) => number;
  /** The count at which the model is warned; the model is never warned when unset. */
  readonly warnAt?: (limits: LoopSettings) => number;
  /** The count after which a further call is blocked; no call is blocked when unset. */
  readonly stopAt?: (limits: LoopSettings) => number;
}

const always = (): boolean => true;
const warning = (limits: LoopSettings): number => limits.warningThreshold;
const critical = (limits: LoopSettings): number => Math.max(limits.criticalThreshold, limits.warningThreshold + 1);

/** The detectors, in their order: the first one that finds a loop is named. */
const DETECTORS: readonly LoopDetector[] = [
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

/** The number of the latest calls in which two calls alternate, each with one outcome. */
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

/**
 * The number of the latest calls in which one tool gave one outcome whatever its arguments were, and changed nothing.
 */
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
