import { z } from "zod";
import { sentFiles } from "./chat/sent-files.ts";
import { keyField } from "./key-field.ts";
import type { AgentId, SessionKey } from "./ids.ts";
import type { Answer } from "./method.ts";
import type { ChatMessage, InputProvenance, ThinkLevel } from "./run/model.ts";
import type { Plan } from "./plan.ts";
import type { UntrustedMark } from "./run/untrusted.ts";
import type { VerboseLevel } from "./run/verbose.ts";

export type ChatType = "direct" | "group" | "thread";

/** The fields of a subagent's row. */
interface SubagentEntry {
  /** Key of the session that asked for it; its own plugin's id when no session did. */
  spawnedBy?: string;
  /** How many sessions are above this one, each of which asked for the next. */
  spawnDepth?: number;
  /** The plugin that asked for the session. */
  spawnedByPlugin?: string;
  /** Time at which the conversation is archived, once no announcement about it is pending. */
  archiveAt?: number;
  /** How many subagents this session has asked for. */
  spawnedCount?: number;
}

/** How messages of this session wait, where that differs from the config. Another program may have written other values. */
interface QueueEntry {
  queueMode?: string;
  queueDebounceMs?: number;
  queueCap?: number;
  queueDrop?: string;
}

/** Settings for additional content of the answers of this session. */
interface ShownEntry {
  verboseLevel?: VerboseLevel;
  reasoningLevel?: "off" | "on" | "stream";
  /** Answers that are spoken, as in `SPEECH_LEVELS`; another program may have written `on` or `voice`. */
  ttsAuto?: string;
  /** As `USAGE_LEVELS`, or `on` for `tokens`; another program may have written another value. */
  responseUsage?: string;
}

/** How commands of this session run, where that differs from the config. Another program may have written other values. */
interface ExecEntry {
  execHost?: string;
  execSecurity?: string;
  execAsk?: string;
  elevatedLevel?: string;
}

/** How people sort the sessions in a list. */
interface SortedEntry {
  /** When it was put into the archive; a later message brings it back. */
  archivedAt?: number;
  /** Who put it there: `manual`, `age-retention`, `active-session-cap`; another program may have written another value. */
  archiveReason?: string;
  pinnedAt?: number;
  /** When a person marked it as unread. */
  markedUnreadAt?: number;
  /** A person's order of sessions: the group that has it, and its look. */
  category?: string;
  icon?: string;
  color?: string;
  /** The session in which a client began this one. */
  parentSessionKey?: string;
  /** The conversation began as a copy of the one in that session. */
  forkedFromParent?: boolean;
}

/**
 * A session's row in the journal and in `sessions.json`, in the field's names. Times are epoch milliseconds. Unknown
 * fields of a row are kept.
 */
export interface SessionEntry extends SubagentEntry, QueueEntry, ShownEntry, ExecEntry, SortedEntry {
  sessionId: string;
  updatedAt: number;
  sessionFile?: string;
  systemSent?: boolean;
  abortedLastRun?: boolean;
  chatType?: ChatType;
  thinkingLevel?: ThinkLevel;
  providerOverride?: string;
  modelOverride?: string;
  authProfileOverride?: string;
  authProfileOverrideSource?: "auto" | "user";
  /** `deny`: messages of this session are not answered. */
  sendPolicy?: "allow" | "deny";
  /** The agent's latest plan; another program may have written another value. */
  plan?: Plan;
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  totalTokensFresh?: boolean;
  contextTokens?: number;
  compactionCount?: number;
  /** Text and time of the last heartbeat that had something to say. */
  lastHeartbeatText?: string;
  lastHeartbeatSentAt?: number;
  /** Value of `compactionCount` when memory was last flushed. */
  memoryFlushCompactionCount?: number;
  memoryFlushAt?: number;
  /** A sender who is no owner has written in it. */
  heardGuests?: boolean;
  /**
   * Content of others that the conversation has read, see `untrustedMarkOf`; another program may have written another
   * value.
   */
  untrustedContent?: UntrustedMark;
  label?: string;
  displayName?: string;
  channel?: string;
  groupId?: string;
  /** Messages of a group that the agent gets; as `requireMention` says when unset. */
  groupActivation?: "mention" | "always";
  subject?: string;
  lastChannel?: string;
  lastTo?: string;
  lastAccountId?: string;
  lastThreadId?: string;
  /** Who wrote last: `channel:id`, with the phone number for an id where the platform has one, and the `@` name. */
  origin?: { readonly provider?: string; readonly from?: string; readonly username?: string };
}

/** A line of a transcript in the pi v3 format. `parentId` is null for the first. */
export interface EntryBase {
  readonly id: string;
  readonly parentId: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
}
export type EntryBody =
  | { readonly type: "message"; readonly message: ChatMessage }
  | { readonly type: "model_change"; readonly provider: string; readonly modelId: string }
  | { readonly type: "thinking_level_change"; readonly thinkingLevel: string }
  | {
      readonly type: "compaction";
      readonly summary: string;
      readonly firstKeptEntryId: string;
      readonly tokensBefore: number;
      readonly details?: unknown;
    }
  | { readonly type: "branch_summary"; readonly fromId: string; readonly summary: string; readonly details?: unknown }
  | { readonly type: "custom"; readonly customType: string; readonly data?: unknown }
  | {
      readonly type: "custom_message";
      readonly customType: string;
      readonly content: string | { type: "text"; text: string }[];
      readonly display: boolean;
      readonly details?: unknown;
    }
  | { readonly type: "label"; readonly targetId: string; readonly label?: string }
  | { readonly type: "session_info"; readonly name?: string };
/** A text that the gateway adds to a conversation for its model. */
export interface SessionNote {
  readonly customType: string;
  readonly content: string;
  readonly details?: {
    /** Origin of the message; from the gateway itself when unset. */
    readonly provenance?: InputProvenance;
    /** Set when the note joined a turn under way: the mark of the prompt in whose place it is. */
    readonly insteadOf?: string;
  };
}
export type TranscriptEntry = EntryBase & EntryBody;

/** The file of a conversation. */
interface SessionFile {
  /** Absolute path of the transcript. */
  readonly file: string;
  /** Places of the file that could not be read, in the part that was needed so far. */
  readonly damagedPlaces: number;
  /** Resolves when everything that was appended is synced; costs nothing when it is. Rejects with DISK_FULL or DISK_WRITE. */
  sync(): Promise<void>;
}

/** An open conversation. Belongs to the caller of `acquire` until `release`. */
export interface Session extends SessionFile {
  readonly key: SessionKey;
  readonly agentId: AgentId;
  /** Changes with `reset`. */
  readonly id: string;
  readonly entry: Readonly<SessionEntry>;
  /** True until the first message of this session id is there. */
  readonly isNew: boolean;
  /** Id of the last entry of the current branch, or null. */
  readonly leafId: string | null;

  /**
   * The current branch, newest part: entries back to the last compaction's first kept entry, or until `maxTokens`
   * (estimated) are gathered, cut at a user turn. `older`: earlier entries were left out. The same array parts are
   * reused over turns: do not change them. The cost grows with the window, never with the file.
   */
  window(maxTokens: number): Promise<SessionWindow>;
  /** Entries after the given one on the current branch (in the loaded window), oldest first; undefined when it is not there. */
  after(entryId: string): Promise<readonly TranscriptEntry[] | undefined>;
  /** The last entries of the branch, as far as they are in the loaded window, oldest first. */
  newest(count: number): Promise<readonly TranscriptEntry[]>;
  /** The parent of an entry, null for the first; undefined when the entry is not on the branch in the loaded window. */
  parentOf(entryId: string): Promise<string | null | undefined>;
  /** Appends in one write. With `durable` it resolves after fsync, which includes earlier entries. Returns the entry's id. */
  append(body: EntryBody, options?: { id?: string; durable?: boolean }): Promise<string>;
  /** Makes this entry the parent of the next append (null: at the start). */
  branch(entryId: string | null): void;
  /**
   * Changes fields of the row; `undefined` deletes one. Durable within seconds. With `now` it is durable when it resolves, and when
   * it rejects nothing is changed.
   */
  update(patch: SessionPatch, options?: RowUpdateOptions): Promise<void>;
  /** Archives the transcript as `<file>.reset.<timestamp>` and begins a new one under the same key, keeping settings. */
  reset(reason: ResetReason, by?: ResetBy): Promise<void>;
  /** Informs watchers as a reset does, while `begin` makes the conversation that follows this one, which stays as it is. */
  succeed<T extends NextConversation>(begin: () => Promise<T>, how: Succession): Promise<T>;
  release(): void;
}

export interface RowUpdateOptions {
  readonly now?: boolean;
  /** Id of the conversation that a new one follows. */
  readonly resumedFrom?: string | undefined;
}

/** The conversation that follows another one under its own key. */
export type NextConversation = Pick<ConversationFacts, "key" | "sessionId">;

export interface Succession {
  readonly by: ResetBy;
  /** Watchers are told that the earlier conversation has ended. */
  readonly ends: boolean;
}

export type SessionPatch = { [K in keyof SessionEntry]?: SessionEntry[K] | undefined };

export interface SessionWindow {
  readonly messages: readonly { readonly entryId: string; readonly message: ChatMessage }[];
  /** Summary of the last compaction, which precedes the messages. */
  readonly summary?: string;
  readonly estimatedTokens: number;
  readonly older: boolean;
  /**
   * Times in milliseconds, by the model's name, until which the provider refuses the thinking in that model's answers.
   */
  readonly refusedThinking?: Readonly<Record<string, number>>;
}

export interface SessionRow {
  readonly key: SessionKey;
  readonly entry: Readonly<SessionEntry>;
}

/** A session's row as the journal keeps it. */
export interface StoredSession {
  readonly key: SessionKey;
  /** Undefined when the session was removed and `sessions.json` still has it. */
  readonly row: SessionEntry | undefined;
  /**
   * The session's entry in `sessions.json` when the file was last read or written here; undefined when the file did not
   * have it.
   */
  readonly exported: SessionEntry | undefined;
}

/** Rows by key; `undefined` for one that is not there any more. */
export type RowChanges = readonly (readonly [SessionKey, SessionEntry | undefined])[];

/** The file `sessions.json` as it was last read or written. */
export interface ExportState {
  /** Changes whenever the file does. */
  readonly version: string;
  /** Members of the file that are no session rows; they are written again as they were. */
  readonly others: Readonly<Record<string, unknown>>;
}

/** The session rows of the journal. Every method rejects with `OpenClawError` DISK_FULL or DISK_WRITE when it cannot write. */
export interface SessionTable {
  all(): Promise<readonly StoredSession[]>;
  /**
   * Writes rows, all or none; they are on disk when it resolves. The cost grows with these rows, however many others
   * there are.
   */
  write(rows: RowChanges): Promise<void>;
  lastExport(): Promise<ExportState | undefined>;
  /** `sessions.json` now says this of these sessions. */
  noteExport(rows: RowChanges, state: ExportState): Promise<void>;
}

/** Reports that a transcript was written, renamed and kept, or begun again. */
export interface TranscriptUpdate {
  readonly key: SessionKey;
  /** Absolute path of the session's transcript; for a deleted session, of its last one. */
  readonly file: string;
  /** The entry that was appended; unset when the conversation ended or begins anew. */
  readonly entryId?: string;
  /** The entry is the gateway's own, for people. It may come after the end of the run that it belongs to. */
  readonly isNotice?: boolean;
}

/** Chooses the sessions of an agent's chats in channels. */
export interface ChatFilter {
  readonly agent: AgentId;
  readonly chatType: ChatType;
  /** Only sessions of this channel. */
  readonly channel?: string | undefined;
  /**
   * Only sessions that name one of these people, without the channel: as who wrote last, as the chat's id, or as the
   * person of the key.
   */
  readonly people?: readonly string[] | undefined;
}

/** The settings of a session that people set, as its row names them; its model is `providerOverride` and `modelOverride`. */
export const SESSION_SETTINGS = [
  "label",
  "category",
  "icon",
  "color",
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "responseUsage",
  "ttsAuto",
  "groupActivation",
  "sendPolicy",
  "queueMode",
  "queueDebounceMs",
  "queueCap",
  "queueDrop",
  "execHost",
  "execSecurity",
  "execAsk",
  "elevatedLevel",
] as const satisfies readonly (keyof SessionEntry)[];

/** Times at which a person put a session aside, pinned it, or marked it as unread. */
export const SESSION_MARKS = [
  "archivedAt",
  "pinnedAt",
  "markedUnreadAt",
] as const satisfies readonly (keyof SessionEntry)[];

/** Changes of sessions for watchers. Each iteration ends with the signal or with `close`. */
interface SessionChanges {
  /** Every later write of a transcript, after it is done. */
  updates(signal?: AbortSignal): AsyncIterable<TranscriptUpdate>;
  /**
   * Keys of sessions whose settings or model are changed by anybody. A change that could not be written is reported
   * twice.
   */
  settingChanges(signal?: AbortSignal): AsyncIterable<SessionKey>;
}

/** A message of a transcript. */
export type MessageEntry = TranscriptEntry & { readonly type: "message" };

/** One way through a conversation that was continued at different places. */
export interface ConversationBranch {
  readonly leafId: string;
  /** The conversation continues here. */
  readonly isActive: boolean;
  /** The newest first. */
  readonly messages: readonly MessageEntry[];
}

/** The newest entries of a transcript, of all branches. */
export interface ConversationTree {
  /**
   * The branch written last comes first. Others than the active one are only those in which a person asked and was
   * answered.
   */
  readonly branches: readonly ConversationBranch[];
  /** Undefined when the entry is not there or cannot be read. */
  find(id: string): { readonly entry: TranscriptEntry; readonly isActive: boolean } | undefined;
}

/** Reads transcripts, also while a run holds their sessions. */
export interface TranscriptReading {
  /** Messages for people, oldest first, the newest `limit`; reads from the file's end. */
  history(key: SessionKey, limit: number): Promise<{ entries: readonly TranscriptEntry[]; hasMore: boolean }>;
  /** All branches of the conversation. Reads the file from its end, up to a limit. */
  tree(key: SessionKey): Promise<ConversationTree>;
  /** The first text of a person in the transcript, with the gateway's additions; undefined when its beginning has none. */
  opening(key: SessionKey): Promise<string | undefined>;
  /** Absolute path of the session's transcript; the file may not be there yet. Undefined when there is no row. */
  fileOf(key: SessionKey): string | undefined;
}

/** A session whose row was removed. */
export interface RemovedSession {
  /** Path of the archived transcript; undefined when the session had no file. */
  readonly archived: string | undefined;
}

/** All conversations of one state directory. */
export interface Sessions extends SessionChanges, TranscriptReading {
  /** How many sessions there are. */
  readonly count: number;
  /** Opens or creates a session; waits while another caller holds it. */
  acquire(key: SessionKey): Promise<Session>;
  /** The row without opening the transcript. */
  peek(key: SessionKey): Readonly<SessionEntry> | undefined;
  /** All sessions: for views that a person requests, never per message or per heartbeat. */
  list(): readonly SessionRow[];
  /** The session with this id, by index. */
  withId(sessionId: string): SessionRow | undefined;
  /** The chosen sessions, or all, the newest first, by index. To be read before anything is awaited. */
  newest(of?: ChatFilter): Iterable<SessionRow>;
  /** Like `Session.update`, for a session that may be held by a run. Undefined when there is no row. */
  patch(key: SessionKey, patch: SessionPatch, options?: { now?: boolean }): Promise<Readonly<SessionEntry> | undefined>;
  /**
   * Begins a session with a copy of another one's conversation up to an entry, or up to its end, with its settings. The
   * copy is on disk when it resolves. Undefined when there is no such session. Throws when `to` is a session already.
   */
  fork(from: SessionKey, ask: ForkAsk): Promise<Readonly<SessionEntry> | undefined>;
  /** Archives the transcript as `<file>.deleted.<timestamp>` and removes the row. Undefined when there was none. */
  remove(key: SessionKey): Promise<RemovedSession | undefined>;
  /** Resolves when every change so far is durable. */
  flush(): Promise<void>;
  /** Writes pending changes, `sessions.json` too. */
  close(): Promise<void>;
}

/** A copy of a conversation. */
export interface ForkAsk {
  readonly to: SessionKey;
  /** The last entry that is copied; null copies none. The last one of the conversation when unset. */
  readonly until?: string | null | undefined;
  readonly patch: SessionPatch;
}

/** Why a conversation is replaced by a new one. `new` and `reset`: a person asked for it by this command or method. */
export type ResetReason = "new" | "reset" | "idle" | "daily";

/** Who asked for a new conversation. */
export interface ResetBy {
  /** The channel, or `gateway:sessions.reset`. */
  readonly commandSource: string;
  readonly senderId?: string;
}

/** A conversation that begins or ends. */
export interface ConversationFacts {
  readonly key: SessionKey;
  readonly agentId: AgentId;
  readonly sessionId: string;
  /** Absolute path of the transcript, before it is archived. */
  readonly file: string;
}

/** Is informed when conversations begin and end. Must neither throw nor reject. */
export interface SessionWatcher {
  /** Whether `beforeReset` needs the messages, which are read for it. */
  readonly wantsMessages: boolean;
  /** The transcript is still in its place. The reset waits for it. */
  beforeReset(
    facts: ConversationFacts & {
      readonly reason: ResetReason;
      readonly messages: readonly ChatMessage[];
      readonly by?: ResetBy | undefined;
    },
  ): Promise<void>;
  ended(
    facts: ConversationFacts & {
      readonly reason: ResetReason | "deleted";
      readonly messageCount: number;
      /** Absolute path of the archived transcript; undefined when there was no file. */
      readonly archived: string | undefined;
      /** The conversation that follows, under the same key or its own. */
      readonly next?: NextConversation;
    },
  ): void;
  /** `resumedFrom`: id of the conversation that the new one replaces. */
  started(facts: ConversationFacts & { readonly resumedFrom?: string }): void;
}

const text = z.string().optional();
const flag = z.boolean().optional();
const count = z.number().optional();

/** Fields of a session's row that clients see in a list too. */
const rowFields = z.looseObject({
  spawnedBy: keyField().optional(),
  parentSessionKey: keyField().optional(),
  forkedFromParent: flag,
  chatType: text,
  label: text,
  displayName: text,
  category: text,
  icon: text,
  color: text,
  thinkingLevel: text,
  verboseLevel: text,
  reasoningLevel: text,
  responseUsage: text,
  ttsAuto: text,
  groupActivation: text,
  sendPolicy: text,
  queueMode: text,
  queueDebounceMs: count,
  queueCap: count,
  queueDrop: text,
  execHost: text,
  execSecurity: text,
  execAsk: text,
  elevatedLevel: text,
  pinnedAt: count,
  markedUnreadAt: count,
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  totalTokensFresh: flag,
  /** Tokens of the model's context window. */
  contextTokens: z.number().nullish(),
  systemSent: flag,
  abortedLastRun: flag,
  channel: text,
  subject: text,
  groupId: text,
  lastChannel: text,
  lastTo: text,
  lastAccountId: text,
  lastThreadId: text,
});

const listedSession = rowFields.extend({
  key: keyField(),
  agentId: text,
  sessionId: text,
  updatedAt: z.number(),
  /** `direct` or `group`. */
  kind: text,
  /** Kind of the key: `main`, `direct`, `group`, `subagent`, `cron` or `custom`. */
  classification: text,
  isMain: flag,
  isBackground: flag,
  model: z.string().nullish(),
  modelProvider: z.string().nullish(),
  /** `user`: a person chose the session's model. */
  modelOverrideSource: z.string().nullish(),
  status: text,
  hasActiveRun: flag,
  activeRunIds: z.array(z.string()).optional(),
  archived: flag,
  pinned: flag,
  unread: flag,
  derivedTitle: text,
  lastMessagePreview: text,
});
/** A session in a list. */
export type ListedSession = Answer<z.output<typeof listedSession>>;

/** A setting of a session. */
const settingInForce = z.looseObject({
  /** Value that holds now; null when the config alone cannot decide it. */
  value: z.union([z.string(), z.number()]).nullable(),
  /** Source of the value: the session's row, or the config. */
  source: z.enum(["session", "default"]),
  /** Value that holds when the session's row sets nothing. */
  default: z.union([z.string(), z.number()]).nullable(),
  /** The values that `sessions.patch` takes. */
  choices: z.array(z.string()).optional(),
  /** The least and the greatest number that `sessions.patch` takes. */
  range: z.array(z.number()).optional(),
});
export type SettingInForce = Answer<z.output<typeof settingInForce>>;

/** A value with the config key that it comes from, and the key's place in the file; the gateway's default without them. */
const sourced = z.looseObject({
  value: z.string(),
  key: z.string().exactOptional(),
  place: z.string().exactOptional(),
});
export type Sourced = Answer<z.output<typeof sourced>>;

/** Where commands run, which of them may, and when a person is asked. */
export const execRights = z.looseObject({ host: sourced, security: sourced, ask: sourced });
export type ExecRights = Answer<z.output<typeof execRights>>;

/** The rights of an operator's turn in a session, and what grants them; unset for a session of no agent. */
const rights = z.looseObject({
  sandbox: z
    .looseObject({
      /** Commands run in the sandbox; `why` when they do not. */
      commands: z.boolean(),
      why: z.string().optional(),
      mode: z.string(),
      backend: z.string().optional(),
      works: z.boolean().optional(),
      scope: z.string().optional(),
      workspaceAccess: z.string().optional(),
    })
    .optional(),
  exec: execRights.optional(),
  tools: z
    .array(
      z.looseObject({
        tool: z.string(),
        allowed: z.boolean(),
        /** The step of the policy that decided. */
        stage: z.string().optional(),
        key: z.string().optional(),
        place: z.string().optional(),
      }),
    )
    .optional(),
});
export type SessionRights = Answer<z.output<typeof rights>>;

/** A part of a message, of any kind. */
export const messageBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  /** Of a tool call. */
  id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  /** Of an image. */
  mimeType: z.string().optional(),
});

const shownBlock = messageBlock.extend({
  /** The bytes of an image as base64, and its name. */
  data: z.string().optional(),
  fileName: z.string().optional(),
  /** A file of an answer, which has the type `attachment`; `url` as in `media` of a message. */
  attachment: z
    .looseObject({
      url: z.string(),
      kind: z.string(),
      label: z.string(),
      mimeType: z.string().optional(),
      sizeBytes: z.number().optional(),
      isVoiceNote: z.boolean().optional(),
    })
    .optional(),
});
export type ShownBlock = Answer<z.output<typeof shownBlock>>;

/** A message of a transcript, as clients see it. */
export const shownMessage = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(shownBlock)]).default(""),
  timestamp: z.number().optional(),
  toolName: z.string().optional(),
  /** Of a tool's result: the call that it answers. */
  toolCallId: z.string().optional(),
  isError: z.boolean().optional(),
  model: z.string().optional(),
  usage: z.unknown().optional(),
  api: text,
  provider: text,
  /** Of an answer: its id at the provider. */
  responseId: text,
  stopReason: z.string().optional(),
  errorMessage: z.string().optional(),
  /** Of a tool's result, for programs. */
  details: z.unknown().optional(),
  /** Of a message that no person wrote: its origin. */
  provenance: z.union([z.looseObject({ sourceSessionKey: keyField().optional() }), z.unknown()]).optional(),
  /** Of a person's message: `<run>:user`. */
  idempotencyKey: text,
  /** `seq` increases along the transcript. `sender`: who wrote it, if not the operator. `failure`: the kind of an error. */
  __openclaw: z
    .looseObject({
      id: z.string(),
      seq: z.number(),
      runId: z.string().optional(),
      sender: z.string().optional(),
      failure: z.string().optional(),
      ...sentFiles,
    })
    .optional(),
});
export type ShownMessage = Answer<z.output<typeof shownMessage>>;

/** What the tools of a message did, in the protocol's form. */
const shownActivity = z.object({
  messageId: z.string(),
  items: z.array(
    z.object({
      itemId: z.string(),
      toolCallId: z.string(),
      name: z.string(),
      kind: z.string(),
      phase: z.literal("end"),
      title: z.string(),
      /** Missing when nobody knows how it ended. */
      status: z.enum(["completed", "failed"]).optional(),
      summary: z.string().optional(),
      /** The call is a command. */
      commandBearing: z.boolean(),
    }),
  ),
});
export type ShownActivity = Answer<z.output<typeof shownActivity>>;

const key = keyField();
/** The whole row of a session; another program may have added fields. */
const shownEntry = rowFields.extend({
  sessionId: z.string(),
  updatedAt: z.number(),
  sessionFile: text,
  providerOverride: text,
  modelOverride: text,
  authProfileOverride: text,
  authProfileOverrideSource: text,
  archivedAt: count,
  archiveReason: text,
  spawnDepth: count,
  spawnedByPlugin: text,
  spawnedCount: count,
  archiveAt: count,
  plan: z.unknown().optional(),
  compactionCount: count,
  lastHeartbeatText: text,
  lastHeartbeatSentAt: count,
  memoryFlushCompactionCount: count,
  memoryFlushAt: count,
  heardGuests: flag,
  untrustedContent: z.unknown().optional(),
  origin: z.looseObject({ provider: text, from: text }).optional(),
});

const defaults = z.looseObject({
  modelProvider: z.string().nullable(),
  model: z.string().nullable(),
  contextTokens: z.number().nullish(),
});

const inputReceipt = z.looseObject({ runId: z.string(), state: z.string(), consumedByEventId: text });

/** The answers of `sessions.*` and `chat.history`, but for those about usage, search and waiting messages. */
export const sessionAnswers = {
  resolve: z.looseObject({ ok: z.boolean(), key: keyField().optional(), agentId: text }),
  list: z.looseObject({
    sessions: z.array(listedSession),
    nextOffset: z.int().nullish(),
    /** The model of a new session. */
    defaults: defaults.optional(),
    /** Path of `sessions.json`. */
    path: text,
    ts: count,
    count,
    totalCount: count,
    hasMore: flag,
  }),
  describe: z.looseObject({
    key: keyField(),
    session: listedSession.nullable(),
    settings: z.record(z.string(), settingInForce),
    ...rights.shape,
  }),
  history: z.looseObject({
    sessionKey: keyField().optional(),
    sessionId: text,
    /** The row of `sessions.list`; `updatedAt` is null before the first message. */
    sessionInfo: listedSession.extend({ updatedAt: z.number().nullish() }).optional(),
    messages: z.array(shownMessage),
    /** Of the messages with calls or results of tools. */
    activity: z.array(shownActivity).optional(),
    hasMore: z.boolean().optional(),
    offset: count,
    nextOffset: count,
    totalMessages: count,
    /** The model of a new session. */
    defaults: defaults.optional(),
    thinkingLevel: text,
    verboseLevel: text,
    inFlightRun: z.looseObject({ runId: z.string(), text: z.string() }).optional(),
    pendingInputs: z.looseObject({ items: z.array(z.unknown()), total: z.number() }).optional(),
    /** Whether the messages of the runs that the client named are in the transcript. */
    inputReceipts: z.array(inputReceipt).optional(),
    inputConsumptions: z.array(inputReceipt).optional(),
  }),
  reset: z.looseObject({ ok: z.boolean(), key, entry: shownEntry }),
  /** `archived`: paths of the transcripts that were kept under another name. */
  delete: z.looseObject({ ok: z.boolean(), key, deleted: z.boolean(), archived: z.array(z.string()) }),
  compact: z.looseObject({
    ok: z.boolean(),
    key,
    compacted: z.boolean(),
    /** Why the conversation was not compacted. */
    reason: z.string().optional(),
    tokensBefore: z.number().optional(),
    tokensAfter: z.number().optional(),
  }),
  patch: z.looseObject({
    ok: z.boolean(),
    /** Path of `sessions.json`. */
    path: text,
    key,
    entry: shownEntry,
    /** The session's own model. */
    resolved: z.looseObject({ modelProvider: z.string().nullable(), model: z.string().nullable() }),
  }),
  create: z.looseObject({
    ok: z.boolean(),
    key,
    sessionId: z.string(),
    entry: shownEntry,
    /** The model that answers in it. */
    resolved: z.looseObject({ modelProvider: z.string().nullable(), model: z.string().nullable() }),
    runStarted: z.boolean(),
    runId: text,
    status: text,
  }),
  subscribe: z.looseObject({ subscribed: z.boolean() }),
  follow: z.looseObject({ subscribed: z.boolean(), key }),
};
