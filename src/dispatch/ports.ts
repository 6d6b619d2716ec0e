import type { RunDeps, RunRequest, SystemPrompt } from "../harness/request.ts";
import type { Outbox } from "../outbox/deliver.ts";
import type { Models } from "../providers/catalog.ts";
import type { Budgets } from "../types/spend/budgets.ts";
import type { ButtonLimits, ChannelLink } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { Desks } from "../types/desks.ts";
import type { OpenClawError } from "../types/errors.ts";
import type { ChannelId, SessionKey } from "../types/ids.ts";
import type { PairingRequest } from "../types/answers/pairing.ts";
import type { InboxRow, Journal, MediaStore } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { DailyNote } from "../prompt/startup-notes.ts";
import type { HistoryLine, InboundMessage, Peer } from "../types/chat/message.ts";
import type { Speaker, SpeechLevel, Recording } from "../types/media/speech.ts";
import type { ModelInfo, ModelRef } from "../types/run/model.ts";
import type { Acting } from "../types/run/principal.ts";
import type { ChatScene } from "../types/chat/send.ts";
import type { Session, Sessions } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { Approval, SandboxNote, Tool, ToolSet } from "../types/run/tool.ts";
import type { TurnKinds } from "../types/run/turn-kind.ts";
import type { SkillsOf } from "../types/run/skill.ts";
import type { DispatchSettings } from "./settings.ts";

/** Whether a message may be answered. Decided after the journal has the message. */
export type Verdict =
  | { readonly kind: "pass" }
  | { readonly kind: "pair" }
  /** Kept as context for the next answer, but not answered itself. */
  | { readonly kind: "history" }
  /** Added to the next turn of the session as a system event. */
  | { readonly kind: "event" }
  /** With a `notice`, the sender gets this text. */
  | { readonly kind: "drop"; readonly why: string; readonly notice?: string };

/** Messages that were not answered, kept per chat as context for its next turn. */
export interface GroupHistoryBuffer {
  add(row: InboxRow): void;
  /** Removes and returns the lines that were kept before this message in its chat, oldest first. */
  take(row: InboxRow): readonly HistoryLine[];
}

/** Keeps the permissions that hold for good. */
export interface AllowanceKeeper {
  /**
   * Rejects when the permission cannot be kept. `by`: who gave the permission, an owner (`channel:id`) or `operator`.
   */
  remember(approval: Approval, by: string): Promise<void>;
}

/** The ports of the data on disk. */
export interface StoragePorts {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly media: MediaStore;
  /** Keeps the commands that owners allowed permanently. */
  readonly allowances: AllowanceKeeper;
  /** The gateway's own files and directories, which no answer may attach. */
  readonly closedPaths: readonly string[];
}

/** The chats: who is let in, and how they are answered. */
export interface ChatPorts {
  readonly outbox: Outbox;
  /** Decides whether a message may be answered. Changes nothing, so it may be called more than once for a message. */
  gate(message: InboundMessage): Promise<Verdict>;
  readonly groupHistory: GroupHistoryBuffer;
  /** The connection of a chat's account. Undefined while there is none. */
  link(to: Peer): ChannelLink | undefined;
  /** The limits for the buttons of a message in a chat, connected or not; undefined where the chat has no buttons. */
  buttons(to: Peer): ButtonLimits | undefined;
  /** Resolves when there is a link, or the signal aborts. */
  linked(to: Peer, signal: AbortSignal): Promise<void>;
  /** True while there is no link, but the chat's account is being connected. */
  isConnecting(to: Peer): boolean;
  /** The channel's name for people, such as `WhatsApp`. */
  labelOf(channel: ChannelId): string | undefined;
  /** Called when a stranger has just received a pairing code. Must not throw. */
  onPairing(request: PairingRequest): void;
}

/** Runs of models: what they may use and spend. */
export interface RunPorts {
  readonly hooks: NonNullable<RunDeps["hooks"]>;
  readonly texts: NonNullable<RunDeps["texts"]>;
  readonly pruned: NonNullable<RunDeps["pruned"]>;
  readonly images: NonNullable<RunDeps["images"]>;
  readonly models: Models;
  readonly budgets: Budgets;
  /**
   * The tools of a run, which are made for it; with `only`, just the tool with that name. `scene` is the chat that the
   * run answers; there is none for web, HTTP and command-line clients.
   */
  tools(agent: AgentSettings, acting: Acting, scene?: ChatScene, only?: string): ToolSet;
  /**
   * Resolves when the sandboxes were tried and `tools` knows the tools of other programs too, or after some seconds, or
   * when the signal aborts. Never rejects.
   */
  toolsReady(signal: AbortSignal): Promise<void>;
  /** The context engine of a run; undefined when the built-in engine is chosen. */
  engineFor(ask: EngineFor): RunRequest["openEngine"];
}

/** What models are shown, and what people hear. */
export interface PromptPorts {
  systemPrompt(request: SystemPromptRequest): Promise<SystemPrompt>;
  /**
   * The current state outside a session's transcript, one line each. The lines are repeated in each turn after a
   * compaction, since a summary may have them wrong. Must not throw.
   */
  liveState(key: SessionKey): readonly string[];
  /** The agent's notes of the last days, for owners. Never rejects. */
  dailyNotes(agent: AgentSettings): Promise<readonly DailyNote[]>;
  /** The skills that people may request. */
  readonly skillsOf: SkillsOf;
  /** Speaks answers. */
  readonly speaker: Speaker;
  /**
   * The text of a recording, where the config names a transcriber. Undefined when the recording stays a file. Never
   * rejects.
   */
  transcribe(recording: Recording): Promise<{ readonly text: string } | undefined>;
  /** Lines for `/status` from other modules. */
  statusLines(): readonly string[];
}

/** The ports for the time in which the disk takes no writes. */
export interface DiskPorts {
  /**
   * Informs chats, without the outbox, that their messages wait for the disk. `isAdmitted`: their senders have been let
   * in. Never rejects.
   */
  onDiskFull(
    messages: readonly InboundMessage[],
    why: { readonly error: unknown; readonly isAdmitted: boolean },
  ): Promise<void>;
  /** Called when a write of the turn or of its record waits for the disk. No chat is informed. Must not throw. */
  onDiskError(error: OpenClawError): void;
  /** Whether the state directory takes writes now. Called after a disk error, before a retry. */
  diskTakesWrites(): Promise<boolean>;
}

/** The ports that only the gateway's program has. */
export interface ProgramPorts {
  /** The number of connected clients that may decide approvals. */
  approverClients(): number;
  readonly desks: Desks;
}

/** Everything that the gateway provides to the message pipeline. A group has at most twelve members, and all are required. */
export interface DispatchPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: TurnKinds;
  /** The settings as the config has them now. */
  settings(): DispatchSettings;
  readonly storage: StoragePorts;
  readonly chats: ChatPorts;
  readonly runs: RunPorts;
  readonly prompts: PromptPorts;
  readonly disk: DiskPorts;
  readonly program: ProgramPorts;
}

export interface EngineFor {
  readonly session: Session;
  readonly agent: AgentSettings;
  readonly candidates: readonly ModelRef[];
  /** A key that is the same each time this turn is run. */
  readonly turnKey: string;
  readonly isHeartbeat?: boolean;
}

export interface SystemPromptRequest {
  readonly agent: AgentSettings;
  readonly model: ModelInfo;
  readonly tools: readonly Tool[];
  /** Undefined for web, HTTP and command-line clients. */
  readonly peer?: Peer;
  readonly session: Pick<Session, "key" | "entry">;
  /** Whether only owners read the answer, so that the prompt has their private notes. */
  readonly isPrivate: boolean;
  /** Whether messages of the chat may have buttons. */
  readonly hasButtons?: boolean;
  readonly extra?: string;
  /** Which answers are spoken as well; none when unset. */
  readonly speech?: Exclude<SpeechLevel, "off">;
  /** The sandbox of the run's tools; unset without one. */
  readonly sandbox?: SandboxNote;
  /** The only files of the workspace that the prompt includes, then without text about the memory; all when unset. */
  readonly onlyFiles?: readonly string[];
}
