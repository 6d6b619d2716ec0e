import type { KeyNames } from "../sessions/shown/wire-keys.ts";
import type { MemoryPromptRequest } from "../types/contribution.ts";
import type { CompactParams, CompactResult } from "../types/engine/context-engine.ts";

/** A handler of a hook, of which only the caller knows the event. May throw. */
export type HookFunction = (event: object, context: object) => unknown;

/** Functions of the gateway that the SDK may call. */
export interface PluginHost {
  /** The two forms of session keys: the functions below take the gateway's own. */
  readonly keys: KeyNames;
  /** Runs the built-in compaction of a session. Rejects as the compaction does. */
  compact(params: CompactParams): Promise<CompactResult>;
  /** The memory plugin's sections of the system prompt; empty without such a plugin. */
  memoryPrompt(request: MemoryPromptRequest): readonly string[];
  /** The handlers of a hook in the order of their calls; empty for a hook that nobody added. */
  hooksOf(name: string): readonly HookFunction[];
  /** Names of the commands of chats that plugins have added, with their aliases. */
  commandNames(): readonly string[];
  /** The current config, its secrets masked. */
  config(): unknown;
}

let current: PluginHost | undefined;

/** Set once by the running gateway; the returned function removes it. */
export function setPluginHost(host: PluginHost): () => void {
  current = host;
  return () => {
    if (current === host) current = undefined;
  };
}

/** The gateway around a plugin; undefined in a process without one, such as a plugin's own tests. */
export const pluginHost = (): PluginHost | undefined => current;
