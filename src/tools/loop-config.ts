import { z } from "zod";
import type { LoopSettings } from "../types/loops.ts";
import { about } from "../utils/config.ts";

/** Values that hold where the config sets none. */
export const LOOP_DEFAULTS: LoopSettings = {
  enabled: true,
  historySize: 30,
  warningThreshold: 10,
  criticalThreshold: 20,
  unknownToolThreshold: 10,
  globalCircuitBreakerThreshold: 30,
  detectors: { genericRepeat: true, knownPollNoProgress: true, pingPong: true },
  postCompactionWindow: 3,
};

const MOST = 1000;
const count = z.int().min(2).max(MOST);
const flag = z.boolean();

const TEXTS = {
  enabled: about("Enabled", "Warns a model that repeats tool calls without progress, and then ends the run."),
  historySize: about("History", "Latest tool calls of a run that are compared."),
  warningThreshold: about("Warning", "Repetitions without progress after which the model is warned."),
  criticalThreshold: about(
    "Limit",
    "Repetitions without progress after which the call is blocked; when the model repeats it again, the run ends.",
  ),
  unknownToolThreshold: about("Unknown tool", "The same limit for calls of a tool that does not exist."),
  globalCircuitBreakerThreshold: about(
    "Circuit breaker",
    "The same limit whatever detectors are on. After so many turns that bring nothing new the model is warned, after twice as many it is blocked.",
  ),
  detectors: about("Detectors", "Patterns that are looked for."),
  genericRepeat: about("Repeat", "The same call with the same result."),
  knownPollNoProgress: about("Poll", "A look at a background process whose state stays the same."),
  pingPong: about("Ping-pong", "Two calls in turn, each with the same result."),
  postCompactionGuard: about("After a compaction", "Loops that a compaction does not end."),
  windowSize: about(
    "Window",
    "Calls after a compaction that are the same, as before it, after which the run ends with `compaction_loop_persisted`.",
  ),
};

/** `tools.loopDetection` */
export const loopDetectionConfig = z.strictObject({
  enabled: flag.default(LOOP_DEFAULTS.enabled).meta(TEXTS.enabled),
  historySize: count.default(LOOP_DEFAULTS.historySize).meta(TEXTS.historySize),
  warningThreshold: count.default(LOOP_DEFAULTS.warningThreshold).meta(TEXTS.warningThreshold),
  criticalThreshold: count.default(LOOP_DEFAULTS.criticalThreshold).meta(TEXTS.criticalThreshold),
  unknownToolThreshold: count.default(LOOP_DEFAULTS.unknownToolThreshold).meta(TEXTS.unknownToolThreshold),
  globalCircuitBreakerThreshold: count
    .default(LOOP_DEFAULTS.globalCircuitBreakerThreshold)
    .meta(TEXTS.globalCircuitBreakerThreshold),
  detectors: z
    .strictObject({
      genericRepeat: flag.default(true).meta(TEXTS.genericRepeat),
      knownPollNoProgress: flag.default(true).meta(TEXTS.knownPollNoProgress),
      pingPong: flag.default(true).meta(TEXTS.pingPong),
    })
    .prefault({})
    .meta(TEXTS.detectors),
  postCompactionGuard: z
    .strictObject({ windowSize: count.default(LOOP_DEFAULTS.postCompactionWindow).meta(TEXTS.windowSize) })
    .prefault({})
    .meta(TEXTS.postCompactionGuard),
});

/** `tools.loopDetection` of one agent. */
export const ownLoopDetectionConfig = z.strictObject({
  enabled: flag.optional().meta(TEXTS.enabled),
  historySize: count.optional().meta(TEXTS.historySize),
  warningThreshold: count.optional().meta(TEXTS.warningThreshold),
  criticalThreshold: count.optional().meta(TEXTS.criticalThreshold),
  unknownToolThreshold: count.optional().meta(TEXTS.unknownToolThreshold),
  globalCircuitBreakerThreshold: count.optional().meta(TEXTS.globalCircuitBreakerThreshold),
  detectors: z
    .strictObject({
      genericRepeat: flag.optional().meta(TEXTS.genericRepeat),
      knownPollNoProgress: flag.optional().meta(TEXTS.knownPollNoProgress),
      pingPong: flag.optional().meta(TEXTS.pingPong),
    })
    .prefault({})
    .meta(TEXTS.detectors),
  postCompactionGuard: z
    .strictObject({ windowSize: count.optional().meta(TEXTS.windowSize) })
    .prefault({})
    .meta(TEXTS.postCompactionGuard),
});

type Shared = z.output<typeof loopDetectionConfig>;
type Own = z.output<typeof ownLoopDetectionConfig>;

/** The loop detection of one agent: its own values, else those for all agents. */
export function loopSettingsOf(all: Shared, own?: Own): LoopSettings {
  const counts = own ?? all;
  return {
    enabled: counts.enabled ?? all.enabled,
    historySize: counts.historySize ?? all.historySize,
    warningThreshold: counts.warningThreshold ?? all.warningThreshold,
    criticalThreshold: counts.criticalThreshold ?? all.criticalThreshold,
    unknownToolThreshold: counts.unknownToolThreshold ?? all.unknownToolThreshold,
    globalCircuitBreakerThreshold: counts.globalCircuitBreakerThreshold ?? all.globalCircuitBreakerThreshold,
    detectors: detectorsOf(all.detectors, own?.detectors),
    postCompactionWindow: own?.postCompactionGuard.windowSize ?? all.postCompactionGuard.windowSize,
  };
}

const detectorsOf = (all: Shared["detectors"], own?: Own["detectors"]): LoopSettings["detectors"] => ({
  genericRepeat: own?.genericRepeat ?? all.genericRepeat,
  knownPollNoProgress: own?.knownPollNoProgress ?? all.knownPollNoProgress,
  pingPong: own?.pingPong ?? all.pingPong,
});
