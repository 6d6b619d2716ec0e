import type { LlmCompletion, LlmCompletionRequest } from "../types/engine/context-engine.ts";
import type { SendResult } from "../types/chat/channel.ts";
import type { MessageOptions, Peer } from "../types/chat/message.ts";
import type { MediaStore } from "../types/journal.ts";
import type { Clock } from "../types/clock.ts";
import type { AgentId, RunId, SessionKey } from "../types/ids.ts";
import type { Log } from "../types/log.ts";
import type { PluginManifest } from "../types/plugin/manifest.ts";
import type { MessageKey, MessageRun } from "../types/run/message-run.ts";
import type { SubagentRequest, Subagents } from "../types/subagent/subagent.ts";
import type { PluginEntry, PluginsConfig } from "./config.ts";
import type { KeyNames } from "../sessions/shown/wire-keys.ts";
import type { SaidByHook } from "./internal-hooks/event.ts";

/** The plugin that calls a model, whose costs the call counts among. */
export interface PluginCaller {
  readonly plugin: string;
  readonly llm: PluginEntry["llm"];
  /** The conversation that the plugin was called in; unset outside of one. */
  readonly bound?: BoundConversation;
}

/** A conversation whose agent and model a plugin's call uses. */
export interface BoundConversation {
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
}

/** The config, as plugins may know it. */
interface PluginSettingsPorts {
  /** The two forms of session keys: plugins see the form of clients, and the ports have the gateway's own. */
  readonly keys: KeyNames;
  /** The whole config as a plugin sees it: secrets that are not of its own settings, channels and providers are masked. */
  shownConfig(plugin: PluginManifest): unknown;
  pluginsConfig(): PluginsConfig;
  /** `plugins.entries.<id>` with its secrets as text; an empty object when there is no entry. */
  settingsOf(plugin: string): Readonly<Record<string, unknown>>;
}

/** Parts of the gateway for plugins. */
export interface PluginPorts extends PluginSettingsPorts {
  readonly stateDir: string;
  /** Workspace of the default agent. */
  workspace(): string;
  /**
   * A model call in the name of the conversation's agent; outside of one in that of `request.agentId`, or of the default agent.
   * Its cost is recorded as the plugin's. Rejects as the provider fails.
   */
  complete(request: LlmCompletionRequest, caller: PluginCaller): Promise<LlmCompletion>;
  readonly sessions: PluginSessions;
  readonly events: PluginEventPorts;
  readonly media: PluginMediaPorts;
  readonly channels: PluginChannelPorts;
  readonly subagents: PluginSubagentPorts;
  readonly clock: Clock;
  readonly log: Log;
}

/** `plugins.entries.<id>.subagent`. */
export type SubagentGrant = PluginEntry["subagent"];

/** Subagents of plugins. */
export interface PluginSubagentPorts extends Omit<Subagents, "run"> {
  /** Rejects as `Subagents.run` does, and when the grant does not cover the model. */
  run(request: SubagentRequest, grant: SubagentGrant): ReturnType<Subagents["run"]>;
  /** Runs that `run` has begun, for watchers: as `PluginRunPorts.runsOf`. */
  runsOf(runId: RunId, signal: AbortSignal): AsyncIterable<MessageRun>;
  /** Ends a run, or its request while it waits. */
  stop(runId: RunId): Promise<void>;
}

/** Events of the gateway. A listener gets events in the field's form until the signal aborts; it must not throw. */
export interface PluginEventPorts {
  /** Text that the next turn of the session begins with. */
  enqueueSystemEvent(text: string, sessionKey: SessionKey): Promise<void>;
  /** Sends the text of a hook of `owner` to a conversation's chat. Returns at once. */
  say(owner: string, said: SaidByHook<SessionKey>): void;
  /** Begins a heartbeat now. */
  requestHeartbeat(reason: string): void;
  /** The events of all runs. */
  followRuns(listener: (event: object) => void, signal: AbortSignal): void;
  /** Writes of transcripts. */
  followTranscripts(listener: (event: object) => void, signal: AbortSignal): void;
}

/** Facts about files by their content. */
export interface PluginMediaPorts {
  readonly typeOf: MediaStore["typeOf"];
  /** Pixels of an image; null for bytes that are none. */
  sizeOf(bytes: Uint8Array): { readonly width: number; readonly height: number } | null;
}

/** A message that a plugin passes on. */
export interface PassedMessage {
  readonly key: MessageKey;
  /** Resolves when the message is in the journal. When it rejects, there are no runs. */
  readonly stored: Promise<unknown>;
}

/** The runs of messages. */
export interface PluginRunPorts {
  /**
   * The runs that answer a message, one after the other. Begins at once; ends when the message has its outcome or nobody works on
   * it any more, and with the signal. A run that has begun may go on then.
   */
  runsOf(message: PassedMessage, signal: AbortSignal): AsyncIterable<MessageRun>;
  /** Ends the run of a message, or the message while it waits, as `/stop` does. */
  stopMessage(key: MessageKey): Promise<void>;
}

/** Parts of the gateway for the channels of plugins. */
export interface PluginChannelPorts extends PluginRunPorts {
  /** Keeps a file of a message in the media store. */
  saveMedia: MediaStore["put"];
  /** The agent and the session of the next message of a chat whose sender has the chat's id. */
  routeOf(from: Peer): PluginRoute;
  /** The conversation that a command of a button or menu is for, and its chat, if it is one of the channel. */
  commandTarget(channel: string, sessionKey: SessionKey): CommandTarget | undefined;
  /**
   * Result of a send by its error: by its HTTP status, its wait or its network code, else the message may have arrived.
   */
  failedSend(error: unknown, channel: { readonly id: string; readonly label: string }): SendResult;
}

/** The options of a message that is a command for another conversation than its own chat's. */
export type CommandTarget = Required<Pick<MessageOptions, "sessionKey" | "deliverTo">>;

/** Agent and session keys of a chat. */
export interface PluginRoute {
  readonly agentId: string;
  readonly sessionKey: SessionKey;
  /** Key of the agent's main conversation. */
  readonly mainSessionKey: SessionKey;
}

/** Files of conversations, for plugins that read them. */
export interface PluginSessions {
  /** Path of `sessions.json`. */
  storePath(agentId?: string): string;
  /** Rows by session key, in the form of `sessions.json`. Copies. */
  load(): Readonly<Record<string, unknown>>;
  /** Path of a transcript. `entry`: its row, where the caller has it. */
  filePath(sessionId: string, entry?: Readonly<Record<string, unknown>>): string;
}
