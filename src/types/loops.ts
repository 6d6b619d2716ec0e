/** When a run repeats its tool calls without progress, in the field's names. Counts of calls, but where they say turns. */
export interface LoopSettings {
  readonly enabled: boolean;
  readonly historySize: number;
  readonly warningThreshold: number;
  readonly criticalThreshold: number;
  readonly unknownToolThreshold: number;
  readonly globalCircuitBreakerThreshold: number;
  readonly detectors: Readonly<Record<"genericRepeat" | "knownPollNoProgress" | "pingPong", boolean>>;
  /** Equal calls after a compaction that end the run. */
  readonly postCompactionWindow: number;
}
