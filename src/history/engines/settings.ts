import type { PluginsConfig } from "../../plugins/config.ts";

/** Milliseconds that the host waits for each call of an engine. */
export interface EngineTimeouts {
  readonly bootstrap: number;
  readonly assemble: number;
  readonly afterTurn: number;
  readonly compact: number;
  readonly maintain: number;
  readonly dispose: number;
}

export interface ContextEngineSettings {
  /** The engine of the slot. */
  readonly id: string;
  readonly timeouts: EngineTimeouts;
}

/** The engine of a run, and the milliseconds that the run waits for it. */
export function engineSettings(plugins: PluginsConfig): ContextEngineSettings {
  const { bootstrap, assemble, afterTurn, compact, maintain, dispose } = plugins.contextEngineTimeoutSeconds;
  return {
    id: plugins.slots.contextEngine,
    timeouts: {
      bootstrap: bootstrap * 1000,
      assemble: assemble * 1000,
      afterTurn: afterTurn * 1000,
      compact: compact * 1000,
      maintain: maintain * 1000,
      dispose: dispose * 1000,
    },
  };
}
