import type { ElevatedLevel } from "./run/exec-wish.ts";
import type { VerboseLevel } from "./run/verbose.ts";
import type { AgentId } from "./ids.ts";
import type { MediaSettings } from "./media/settings.ts";
import type { ModelRef, ThinkLevel } from "./run/model.ts";
import type { SandboxSettings } from "./sandbox.ts";
import type { Secret } from "./secret.ts";
import type { ToolPolicySettings } from "./tool-policy.ts";

export interface ChunkLimits {
  readonly minChars: number;
  readonly maxChars: number;
  readonly breakPreference: "paragraph" | "newline" | "sentence";
}

/** Sampling parameters of a model's answers, and the limit of their length. */
export interface ModelParams {
  /** 0 is the likeliest word each time, 2 nearly any. */
  readonly temperature?: number | undefined;
  /** The share of the likeliest words that are drawn from; more than 0, 1 at most. */
  readonly topP?: number | undefined;
  /** Tokens. */
  readonly maxTokens?: number | undefined;
}

/** Search settings of an agent's memory. */
interface MemoryUse {
  /** Search of the notes; a search by words when unset. */
  readonly memorySearch?: MemorySearchSettings;
}

/** The daily notes that the turn after a bare `/new` or `/reset` has. */
export interface StartupNotes {
  readonly applyOn: readonly ("new" | "reset")[];
  /** Today counts as the first. */
  readonly days: number;
  /** Bytes; a larger file is only named. */
  readonly maxFileBytes: number;
  readonly maxFileChars: number;
  readonly maxTotalChars: number;
}

interface AgentPlaces {
  /** Absolute path. */
  readonly workspace: string;
  /**
   * Absolute path of the directory with the keys that only this agent uses; unset when the agent has none of its own.
   */
  readonly agentDir?: string;
}

/** Everything a run needs to know of one agent, resolved once out of `agents.defaults` and its entry; frozen. */
export interface AgentSettings extends AgentPlaces, MemoryUse {
  readonly id: AgentId;
  readonly name?: string;
  /** Name of the agent in chats. */
  readonly identityName?: string;
  readonly model: { readonly primary?: ModelRef; readonly fallbacks: readonly ModelRef[] };
  readonly thinking: ThinkLevel;
  /** Details about tool calls that chats see; nothing when unset. */
  readonly verbose?: VerboseLevel;
  /** Milliseconds a run may take. */
  readonly timeoutMs: number;
  /** Milliseconds without a sign of the model after which a call has stalled; 120 s when unset. */
  readonly idleTimeoutMs?: number;
  /** Cap on the model's window, tokens. */
  readonly contextTokens?: number;
  readonly dmHistoryLimit?: number;
  /** The defaults when unset. */
  readonly compaction?: CompactionSettings;
  /** UTF-16 units of one tool's result; by the model's window when unset. */
  readonly toolResultMaxChars?: number;
  /** Old tool results are left whole when unset. */
  readonly pruning?: PruneRules;
  /** The models of the tools for images and documents; the defaults when unset. */
  readonly media?: MediaSettings;
  /** `provider/model` by the short name that the config gives it. */
  readonly modelAliases?: Readonly<Record<string, string>>;
  /** Parameters for all models, or for `provider/model` or `provider/*`; a later row counts over an earlier one. */
  readonly params?: readonly { readonly model?: string; readonly values: ModelParams }[];
  readonly timezone: string;
  readonly prompt: {
    readonly override?: string;
    readonly bootstrapMaxChars: number;
    readonly bootstrapTotalMaxChars: number;
    readonly skipBootstrap: boolean;
    readonly skills?: readonly string[];
    /** A fresh session begins without daily notes when unset. */
    readonly startup?: StartupNotes;
  };
  /** `provider/model` or `provider/*` that may be chosen in addition to the agent's own models; any when unset. */
  readonly allowedModels?: readonly string[];
  readonly tools: ToolPolicySettings;
  /** There is no message tool when unset. */
  readonly messageTool?: MessageToolSettings;
  readonly exec: ExecSettings;
  /**
   * How far commands leave the sandbox for people who may permit that, where no conversation sets it; one by one when
   * unset.
   */
  readonly elevated?: ElevatedLevel;
  /** Commands and file tools work on the machine itself when unset. */
  readonly sandbox?: SandboxSettings;
  /**
   * Why the agent answers nobody, for operators: the config restricts it by a key that this version does not implement.
   */
  readonly stopped?: string;
  /** Settings of the heartbeat; no heartbeat when unset. */
  readonly heartbeat?: HeartbeatSettings;
  readonly streaming: {
    readonly blocks: boolean;
    readonly breakAt: "text_end" | "message_end";
    readonly chunk: ChunkLimits;
    /** Milliseconds before each block after the first; none when unset. */
    readonly pause?: { readonly minMs: number; readonly maxMs: number };
  };
  /** How a chat is shown that the agent is at work; every four seconds when unset. */
  readonly typing?: TypingSettings;
}

/** How an agent finds its notes. */
export interface MemorySearchSettings {
  /** False: the agent has no tools for its memory. */
  readonly isOn: boolean;
  /** Sources that are searched: notes, and conversations that owners had alone with the agent. */
  readonly sources: readonly ("memory" | "sessions")[];
  /** The keys of the agent's sessions do not name the agent. */
  readonly isDefaultAgent?: boolean;
  /** Further notes, as the config has them. */
  readonly extraPaths?: readonly string[];
  /** Whether results have the places of notes to quote; outside of groups when unset. */
  readonly citations?: "on" | "off";
  /** Results when the agent does not say how many. */
  readonly maxResults?: number;
  /** From 0 to 1; a result with a lower score is left out when the agent sets none. */
  readonly minScore?: number;
  /** Words alone are compared when unset. */
  readonly vectors?: NoteVectors;
  /** Why vectors cannot be used as the config has them; continues a sentence. */
  readonly vectorsProblem?: string;
}

/** Who makes vectors of texts. */
export interface NoteVectors {
  readonly provider: string;
  readonly model: string;
  /** The URL up to `/embeddings`. */
  readonly url: string;
  readonly key?: Secret;
  readonly headers?: Readonly<Record<string, Secret>>;
  /** Numbers of a vector; as many as the model gives when unset. */
  readonly dimensions?: number;
  readonly queryInputType?: string;
  readonly documentInputType?: string;
  /** Weight of a hit by its vector, beside the weight of a hit by its words; both together are 1. */
  readonly weight: number;
  /** US dollars of a token; unset when it is not known. */
  readonly price?: number;
}

export interface TypingSettings {
  /**
   * Begin of the typing signal: the turn's start, the model's first thought, or its first word. The message decides
   * when unset.
   */
  readonly mode?: "never" | "instant" | "thinking" | "message" | undefined;
  readonly everyMs: number;
}

/** When an agent's heartbeat runs, and where it reports. */
export interface HeartbeatSettings {
  /** Milliseconds from one to the next; more than 0. */
  readonly everyMs: number;
  /** Minutes of the day, from the first to before the last; over midnight when the last is the smaller. Always when unset. */
  readonly activeHours?: { readonly from: number; readonly to: number; readonly timezone: string };
  /** `last`: the direct chat, or the page, that an owner last wrote in. `none`: no chat. Otherwise a channel. */
  readonly target: string;
  /** The chat on that channel, in a person's words. */
  readonly to?: string;
  readonly accountId?: string;
  /** False: never into a direct chat. */
  readonly intoDirect: boolean;
  /** As the agent says when unset. */
  readonly model?: string;
  readonly timeoutMs?: number;
  /** Replaces the default prompt; the checklist may then be empty. */
  readonly prompt?: string;
  /** The system prompt explains the heartbeat. */
  readonly inSystemPrompt: boolean;
  readonly ackMaxChars: number;
  readonly light: boolean;
  /** The heartbeat runs in a conversation of its own, which starts empty each time; else in the chat's conversation. */
  readonly isolated: boolean;
  /** The conversation, when it is a given one. */
  readonly session?: string;
  /** Skips a heartbeat while any run is active. */
  readonly skipWhenBusy: boolean;
}

/** How tool results are pruned, in the field's names; ratios are parts of the window. */
export interface PruneRules {
  /** Milliseconds after which the provider's cache has forgotten a request: only then does pruning cost nothing. */
  readonly ttlMs: number;
  readonly keepLastAssistants: number;
  readonly softTrimRatio: number;
  readonly hardClearRatio: number;
  /** Results are cleared only when at least so many of their characters could be cleared. */
  readonly minPrunableToolChars: number;
  readonly softTrim: { readonly maxChars: number; readonly headChars: number; readonly tailChars: number };
  readonly hardClear: { readonly enabled: boolean; readonly placeholder: string };
  /** Names with `*`; all when `allow` is empty; `deny` wins. */
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

/** How a conversation is made smaller. */
export interface CompactionSettings {
  /** Tokens of the window that stay free for the next turn and its answer. */
  readonly reserveTokens: number;
  /** Tokens of the newest turns that stay as they are. */
  readonly keepRecentTokens: number;
  /** `asked`: nothing is compacted unless somebody asks for it. */
  readonly when?: "needed" | "asked";
  /** The model that writes the summary; the conversation's own when unset. */
  readonly model?: ModelRef;
  /** The older part goes into one call where the writer's window takes it, else into pieces of a cautious size. */
  readonly inOneCall?: boolean;
  /** Milliseconds that a compaction may take. */
  readonly timeoutMs: number;
  readonly instructions?: string;
  /** Rule of a summary for names, ids and paths: kept letter by letter when unset; no rule when empty. */
  readonly identifiers?: string;
  /** The agent gets no turn to write down what matters when unset. */
  readonly memoryFlush?: MemoryFlushSettings;
  /** The chat is informed of a compaction. */
  readonly notifyUser?: boolean;
  /** Headings in `AGENTS.md` whose text the model is shown again afterwards; none when unset. */
  readonly sections?: readonly string[];
  /** Characters of these sections; 3,000 when unset. */
  readonly sectionsMaxChars?: number;
}

/** A turn of the agent's own in which it saves what matters before a compaction takes it away. */
export interface MemoryFlushSettings {
  /** Tokens before the conversation is full. */
  readonly softThresholdTokens: number;
  /** The default text when unset. */
  readonly prompt?: string | undefined;
  readonly systemPrompt?: string | undefined;
}

/** Permissions of the message tool, in the field's names. */
export interface MessageToolSettings {
  readonly actions: readonly string[];
  /** Chats that everybody's conversation may reach: `channel:id`, `channel:*`, an id, or `*`. */
  readonly allowTargets: readonly string[];
  readonly crossContext: { readonly allowWithinProvider: boolean; readonly allowAcrossProviders: boolean };
  /** Hosts from which everybody's conversation may have files fetched, with their subdomains, or `*`. Owners' may from all. */
  readonly mediaHosts: readonly string[];
}

export interface ExecSettings {
  /** Where commands run: `auto` is the sandbox if the session has one, else the machine. `auto` when unset. */
  readonly host?: "auto" | "sandbox" | "gateway";
  readonly security: "deny" | "allowlist" | "full";
  readonly ask: "off" | "on-miss" | "always";
  /** Most milliseconds of one command; 0 for no limit. */
  readonly timeoutMs: number;
  /** The defaults when unset. */
  readonly background?: BackgroundSettings;
  readonly safeBins: readonly string[];
  /** Decides when nobody answers a question; `deny` when unset. */
  readonly askFallback?: "deny" | "allowlist" | "full";
  /** Code on a command line is asked about each time; true when unset. */
  readonly strictInlineEval?: boolean;
  /** Arguments with which a program of `safeBins` runs; by its name. */
  readonly safeBinProfiles?: Readonly<Record<string, SafeBinProfile>>;
  /** Directories that programs of `safeBins` must lie in; `/bin` and `/usr/bin` when unset. */
  readonly safeBinTrustedDirs?: readonly string[];
  readonly pathPrepend: readonly string[];
  /** Environment variables that commands get in addition to the default ones; none when unset. */
  readonly passEnv?: readonly string[];
  /** Environment variables that the config references, which no command is given; none when unset. */
  readonly secretVariables?: readonly string[];
}

/** Settings of commands in the background. */
export interface BackgroundSettings {
  /** Milliseconds after which a command that still runs is moved to the background. */
  readonly afterMs: number;
  /** Milliseconds for which a finished one is kept. */
  readonly keptMs: number;
  /** The conversation gets a turn when a command ends by itself. */
  readonly notifyOnExit: boolean;
  /** The same for one that succeeded without any output. */
  readonly notifyOnExitEmptySuccess: boolean;
}

/** The arguments with which a program reads its standard input only. */
export interface SafeBinProfile {
  /** How many words that are no flags there must be and may be; none when unset. */
  readonly minPositional?: number | undefined;
  readonly maxPositional?: number | undefined;
  /** Flags that take a value, which is no path, such as `-n`. */
  readonly allowedValueFlags?: readonly string[] | undefined;
  readonly deniedFlags?: readonly string[] | undefined;
}
