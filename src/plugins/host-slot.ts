import type { MemoryPromptRequest } from "../types/contribution.ts";
import type { CompactParams, CompactResult } from "../types/engine/context-engine.ts";

/** What the SDK's free functions reach the gateway through. */
export interface PluginHost {
  /** The built-in compaction of the session that the call names. Rejects as the compaction does. */
  compact(params: CompactParams): Promise<CompactResult>;
  /** What the memory plugin says in the system prompt, section by section; none without one. */
  memoryPrompt(request: MemoryPromptRequest): readonly string[];
}

let current: PluginHost | undefined;

/** Set once by the gateway that runs; gives back what takes it out again. */
export function setPluginHost(host: PluginHost): () => void {
  current = host;
  return () => {
    if (current === host) current = undefined;
  };
}

/** The gateway around a plugin; undefined in a process without one, such as a plugin's own tests. */
export const pluginHost = (): PluginHost | undefined => current;
