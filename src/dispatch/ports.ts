import type { RunLog } from "../harness/log/log.ts";
import type { RunDeps, RunRequest, SystemPrompt } from "../harness/request.ts";
import type { Outbox } from "../outbox/deliver.ts";
import type { Models } from "../providers/catalog.ts";
import type { ChannelLink } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { OpenClawError } from "../types/errors.ts";
import type { AgentInternalEvent } from "../types/engine/internal-event.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { InboxRow, Journal, MediaStore, PairingRequest } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { HistoryLine, InboundMessage, MediaKind, Peer } from "../types/chat/message.ts";
import type { ModelInfo, ModelRef } from "../types/run/model.ts";
import type { Acting } from "../types/run/principal.ts";
import type { ChatScene } from "../types/chat/send.ts";
import type { Session, Sessions } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { Tool } from "../types/run/tool.ts";
import type { TurnKinds } from "../types/run/turn-kind.ts";

export type QueueMode = "steer" | "steer-backlog" | "followup" | "collect" | "interrupt";

/** What the config says about a message's way; read anew for each message. */
export interface DispatchSettings {
  readonly agents: ReadonlyMap<AgentId, AgentSettings>;
  readonly defaultAgent: AgentId;
  readonly queue: {
    readonly cap: number;
    readonly debounceMs: number;
    readonly debounceMsByChannel?: Readonly<Record<string, number>>;
    readonly drop: "old" | "new" | "summarize";
  };
  queueMode(to: Peer): QueueMode;
  /** Milliseconds in which messages of one chat become one turn. */
  inboundDebounceMs(to: Peer): number;
  /** Messages that begin with `/` are commands. */
  readonly textCommands: boolean;
  /** Texts that begin a new conversation, beside `/new` and `/reset`. */
  readonly resetTriggers: readonly string[];
  /** Milliseconds since it was written after which a message is not answered but told of; always answered when unset. */
  readonly staleAfterMs?: number;
  /** Runs of all sessions that go on at the same time. */
  readonly maxConcurrent: number;
  /** The session that a message belongs to. */
  keyFor(message: InboundMessage): SessionKey;
  agentOf(key: SessionKey): AgentId;
  isOwner(message: InboundMessage): boolean;
  /**
   * Whether `commands.allowFrom` names the sender, where it has a list for the message's channel: nobody else but owners
   * may use commands then. Without a list, and when unset, the chat and the command decide.
   */
  mayCommand?(message: InboundMessage): boolean | undefined;
  /** Whether messages of this session are answered by what the config says; all are when unset. */
  mayAnswer?(key: SessionKey, from: Peer): boolean;
  /** The conversation, last used then, is over by the rules for this chat: a new one begins. */
  isOver(to: Peer, lastUsed: number, now: number): boolean;
  chat(to: Peer): ChatStyle;
  /** What the config adds to the system prompt of the message's chat. Nothing when unset. */
  chatPrompt?(message: InboundMessage): string | undefined;
  /** The emoji that a message gets when it is accepted. */
  reaction(message: InboundMessage): { readonly emoji: string; readonly removeAfter: boolean } | undefined;
}

/** How a chat is answered. */
export interface ChatStyle {
  readonly replyToMode: "off" | "first" | "all";
  /** As the agent says when unset. */
  readonly streaming?: "off" | "partial" | "block";
  /** False: a growing answer is a message that is edited, also where the platform has a way of its own for it. */
  readonly nativeStreaming?: boolean;
  readonly responsePrefix?: string;
  /** Each paragraph is a message of its own. */
  readonly byParagraph?: boolean;
  /** How blocks that follow each other soon are joined: not at all when unset. Lengths in UTF-16 units. */
  readonly coalesce?: { readonly minChars: number; readonly maxChars: number; readonly idleMs: number };
  /** Bytes of one file of an answer, when less than the gateway sends. */
  readonly mostMediaBytes?: number;
  /** Which files of a message are taken; all when unset. MIME types, with `*` for any part. */
  readonly mediaTypes?: { readonly allow?: readonly string[] | undefined; readonly deny: readonly string[] };
  /** Earlier user turns that the model sees of a direct chat; 0 is all. */
  readonly dmHistoryLimit?: number;
}

/** May this message be answered? Asked after the journal has it. */
export type Verdict =
  | { readonly kind: "pass" }
  | { readonly kind: "pair" }
  /** Heard, kept as context for the next answer, not answered. */
  | { readonly kind: "history" }
  | { readonly kind: "drop"; readonly why: string };

/** What was said in chats without an answer, for the next turn there. */
export interface GroupHistoryBuffer {
  add(row: InboxRow): void;
  /** What was said in the message's chat before it, oldest first; it is gone afterwards. */
  take(row: InboxRow): readonly HistoryLine[];
}

export interface DispatchPorts extends Pick<RunDeps, "hooks" | "texts" | "pruned" | "images" | "mediaDir"> {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly media: MediaStore;
  /** Files and directories of the gateway's own, which no answer may bring. */
  readonly closedPaths?: readonly string[];
  readonly models: Models;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: TurnKinds;
  settings(): DispatchSettings;
  /** Only looks: it may be asked more than once about a message. */
  gate(message: InboundMessage): Promise<Verdict>;
  readonly groupHistory?: GroupHistoryBuffer;
  link(to: Peer): ChannelLink | undefined;
  /** Without a link now, and to get one: its account is being connected. Never when unset. */
  linkComes?(to: Peer): boolean;
  /** The words of a recording, where the config says how they are had; undefined leaves it a file. Never rejects. */
  transcribe?(recording: Recording): Promise<{ readonly text: string } | undefined>;
  /**
   * Tells chats that their messages wait for the disk, without the outbox. `isAdmitted`: somebody has decided that their
   * writers are heard. Never rejects.
   */
  onDiskFull?(
    messages: readonly InboundMessage[],
    why: { readonly error: unknown; readonly isAdmitted: boolean },
  ): Promise<void>;
  /** Called when a write of the turn or of its record waits for the disk; no chat hears of this one. Must not throw. */
  onDiskError?(error: OpenClawError): void;
  /** Whether the state directory takes writes now; asked after a disk error, before work is tried again. Always when unset. */
  diskTakesWrites?(): Promise<boolean>;
  /** `scene` is the chat that the run answers; there is none for web, HTTP and command-line clients. */
  tools(agent: AgentSettings, acting: Acting, scene?: ChatScene): readonly Tool[];
  systemPrompt(request: SystemPromptRequest): Promise<SystemPrompt>;
  /**
   * What goes on outside a session's transcript, a line each, as it is now. Told in each turn after a compaction, since no
   * summary can be trusted with it. Must not throw.
   */
  liveState?(key: SessionKey): readonly string[];
  /** The context engine of a run; undefined when the built-in one is chosen. */
  engineFor?(ask: EngineFor): RunRequest["openEngine"];
  /** Lines for `/status` that other rooms know. */
  statusLines(): readonly string[];
  /** A stranger has just got a pairing code. Must not throw. */
  onPairing?(request: PairingRequest): void;
}

/** A file that lies in the media store. */
export interface Recording {
  readonly kind: MediaKind;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mime: string;
}

export interface EngineFor {
  readonly session: Session;
  readonly agent: AgentSettings;
  readonly candidates: readonly ModelRef[];
  /** The same whenever this turn is told. */
  readonly turnKey: string;
  readonly isHeartbeat?: boolean;
  /** What the turn tells, when it was made from events. */
  readonly events?: readonly AgentInternalEvent[];
}

export interface SystemPromptRequest {
  readonly agent: AgentSettings;
  readonly model: ModelInfo;
  readonly tools: readonly Tool[];
  /** Undefined for web, HTTP and command-line clients. */
  readonly peer?: Peer;
  readonly session: Pick<Session, "key" | "entry">;
  readonly extra?: string;
  /** Of the workspace's files only `HEARTBEAT.md`. */
  readonly isLight?: boolean;
}

/** One place in a lane: rows that are to become one turn. */
export interface QueuedTurn {
  readonly rows: readonly InboxRow[];
  readonly pending: readonly HistoryLine[];
  /** Text with the command cut off; the message's own otherwise. */
  readonly text?: string;
  /** How many of the oldest messages the model is told in a line each, because more waited than the cap allows. */
  readonly brief?: number;
  /** Made early for clients that watch a run from its queue on. */
  readonly log?: RunLog;
  /** The rows were claimed before; their turn may be half done. */
  readonly isReplay?: boolean;
}
