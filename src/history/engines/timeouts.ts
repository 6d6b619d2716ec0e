/** Milliseconds that the host waits for each call of an engine. */
export interface EngineTimeouts {
  readonly bootstrap: number;
  readonly assemble: number;
  readonly afterTurn: number;
  readonly compact: number;
  readonly maintain: number;
  readonly dispose: number;
}

/** Seconds, as `plugins.contextEngineTimeoutSeconds` has them when unset. */
export const ENGINE_TIMEOUT_SECONDS: EngineTimeouts = {
  bootstrap: 60,
  assemble: 15,
  afterTurn: 60,
  compact: 180,
  maintain: 300,
  dispose: 5,
};

/** Out of seconds. */
export const engineTimeouts = (seconds: EngineTimeouts = ENGINE_TIMEOUT_SECONDS): EngineTimeouts => ({
  bootstrap: seconds.bootstrap * 1000,
  assemble: seconds.assemble * 1000,
  afterTurn: seconds.afterTurn * 1000,
  compact: seconds.compact * 1000,
  maintain: seconds.maintain * 1000,
  dispose: seconds.dispose * 1000,
});
