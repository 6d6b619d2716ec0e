import type { LlmCompletion, LlmCompletionRequest } from "../types/engine/context-engine.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import type { PluginEntry, PluginsConfig } from "./config.ts";

/** On whose account a plugin calls a model. */
export interface PluginCaller {
  readonly plugin: string;
  readonly llm: PluginEntry["llm"];
}

/** What the gateway lends to plugins. */
export interface PluginPorts {
  readonly stateDir: string;
  /** Of the default agent. */
  workspace(): string;
  /** The whole config as plugins see it: secrets of others are masked. */
  shownConfig(plugin: string): unknown;
  pluginsConfig(): PluginsConfig;
  /** `plugins.entries.<id>` with its secrets as text; an empty object when there is no entry. */
  settingsOf(plugin: string): Readonly<Record<string, unknown>>;
  /** A model call in the default agent's name, or in that of `request.agentId`. Rejects as the provider fails. */
  complete(request: LlmCompletionRequest, caller: PluginCaller): Promise<LlmCompletion>;
  /** Text that the next turn of the session begins with. */
  enqueueSystemEvent(text: string, session: { readonly sessionKey?: string }): Promise<void>;
  /** Begins a heartbeat now. */
  requestHeartbeat(reason: string): void;
  readonly sessions: PluginSessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Where conversations are, for plugins that read them as files. */
export interface PluginSessions {
  /** Path of `sessions.json`. */
  storePath(agentId?: string): string;
  /** Rows by session key, as `sessions.json` has them. */
  load(): Readonly<Record<string, unknown>>;
  /** Path of a transcript. */
  filePath(sessionId: string): string;
}
