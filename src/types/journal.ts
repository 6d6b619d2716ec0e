import type { AgentId, MediaId, RunId, SessionKey } from "./ids.ts";
import type { Admitted, Paired, PairingRequest, TurnedAway } from "./answers/pairing.ts";
import type { InboundMessage, Peer } from "./chat/message.ts";
import type { ReplyButton, OutboundPart } from "./chat/reply.ts";
import type { Receipt } from "./run/run.ts";
import type { AgentFilter } from "./run/agent-filter.ts";
import type { CronTable } from "./cron/table.ts";
import type { SessionTable } from "./session.ts";

/** The one visible end of an accepted message. */
export type Outcome =
  | { readonly kind: "replied" }
  | { readonly kind: "silent" }
  | { readonly kind: "command"; readonly name: string }
  /**
   * The message joined a run, which did not fail and was not stopped; else it is merged into the run's first message.
   */
  | { readonly kind: "steered" }
  | { readonly kind: "merged"; readonly into: number }
  | { readonly kind: "aborted" }
  | { readonly kind: "dropped"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string };

/** Set by the claim of a row. */
interface Claimed {
  readonly sessionKey?: SessionKey;
  /** Rows of older versions may have none. */
  readonly agentId?: AgentId;
  readonly runId?: RunId;
}

export interface InboxRow extends Claimed {
  /** Grows with arrival. */
  readonly id: number;
  readonly message: InboundMessage;
  readonly state: "accepted" | "claimed" | "done";
  /** Transcript id of the user turn that this row became part of. */
  readonly turnId?: string;
  /** How many boots have claimed the row or begun its command. */
  readonly attempts: number;
  /**
   * Times at which each of these boots first claimed or began the row, in epoch milliseconds; rows of older versions
   * have none.
   */
  readonly starts?: readonly number[];
  readonly outcome?: Outcome;
  /** Epoch milliseconds; rows of older versions have none of these. */
  readonly acceptedAt?: number;
  readonly claimedAt?: number;
  readonly doneAt?: number;
  /** Set when the message was not admitted. */
  readonly refused?: Refusal;
  /** The row whose message an operator had run again as this one. */
  readonly againOf?: number;
  /** Computed when people view the row: the platform accepted nothing of its answer. */
  readonly isUnsent?: boolean;
}

/** Why the rules of a channel did not admit a message; `history`: kept as context for the next answer. */
export type Refusal = "pair" | "history" | "drop";

export interface Claim {
  readonly sessionKey: SessionKey;
  /** The agent that answers. */
  readonly agentId?: AgentId;
  readonly runId: RunId;
  readonly turnId: string;
}

/** An event that was stored, now or before. */
export interface AcceptedRow {
  /** The fields that were of a wrong type. The row has the message without them; one that cannot be read at all has ended as dropped. */
  readonly faults?: readonly string[];
  readonly row: InboxRow;
  readonly isNew: boolean;
}

/** Looks at the rows of the inbox. */
interface InboxReader {
  /** Rows without an outcome, oldest first. */
  open(): Promise<readonly InboxRow[]>;
  find(channel: string, account: string, eventKey: string): Promise<InboxRow | undefined>;
  /**
   * Reports each claim and the end of a row that this process writes, until the signal aborts. `told` is called with
   * each change at once, before the run of a claim can begin; it must not throw.
   */
  changes(id: number, signal: AbortSignal, told?: (change: RowChange) => void): AsyncIterable<RowChange>;
  /** Each message that this process accepts because another one ended, see `MessageOptions.whenEnded`; from now on. */
  followed(signal: AbortSignal): AsyncIterable<InboxRow>;
  /** The rows that became the turn of a run, in order of arrival. */
  ofRun(runId: string): Promise<readonly InboxRow[]>;
  /** The last recorded runs of a session, by the transcript ids of their turns. */
  runsOf(key: SessionKey, most: number): Promise<ReadonlyMap<string, RunId>>;
}

/** A row was claimed for a run, or has its outcome. */
export interface RowChange {
  readonly runId?: RunId;
}

/**
 * State of a withdrawn row: nothing of this boot had begun it, this boot had claimed it or begun its command, or it had
 * its outcome.
 */
export type Withdrawn = "untouched" | "begun" | "ended";

/**
 * Every method resolves after its transaction is on disk, and rejects with `OpenClawError` when that failed. Methods
 * that end in `Ahead`, and `recordTurn`, resolve when their transaction outlives the process; until `synced` resolves,
 * a power cut may undo it.
 */
export interface Inbox extends InboxReader {
  /** Stores events. One known before comes back with `isNew: false`. */
  accept(messages: readonly InboundMessage[]): Promise<readonly AcceptedRow[]>;
  /** As `accept`; the sync begins at once. Only after `synced` may the platform be acknowledged. */
  acceptAhead(messages: readonly InboundMessage[]): Promise<readonly AcceptedRow[]>;
  /** Makes the rows one turn of one run of this boot. Gives the ids of the rows that had not ended. */
  claim(ids: readonly number[], claim: Claim): Promise<readonly number[]>;
  /** As `claim`. */
  claimAhead(ids: readonly number[], claim: Claim): Promise<readonly number[]>;
  /** Resolves when every write of the journal that has resolved before this call is on disk. */
  synced(): Promise<void>;
  /** Counts this boot as one that began the row's command, once. False when the row has ended: its command must not run. */
  begin(id: number): Promise<boolean>;
  /** Ends a row unless it has its outcome, and gives the row's state until then. No later claim gets the row. */
  withdraw(id: number, outcome: Outcome): Promise<Withdrawn>;
  /** The first outcome of a row is final. `refused` says why the message was not admitted. */
  finish(ids: readonly number[], outcome: Outcome, refused?: Refusal): Promise<void>;
  /** The rows of one turn end together: the first that has no end yet with the outcome, the others as merged into it. */
  finishTurn(ids: readonly number[], outcome: Outcome): Promise<void>;
  /** Stores the record of a run and ends the rows of its turn, as `finishTurn` does, in one transaction; without an outcome they stay. */
  recordTurn(run: RunRecord, ids: readonly number[], outcome: Outcome | undefined): Promise<void>;
}

/** planned → sending → sent | unknown | failed */
export type OutboxState = "planned" | "sending" | "sent" | "unknown" | "failed";

/**
 * Why a chat may miss a chunk. `late`: too old when it could be sent. `unknown`: it may be there. `refused`: other parts were taken.
 * `unfit`: it was refused for itself, also as plain text.
 */
export type GapCause = "late" | "unknown" | "refused" | "unfit";

/** Relations of a reply to messages of its chat. */
interface Answering {
  /** The platform's id of the message that it quotes. */
  readonly replyTo?: string;
  /**
   * `eventKey` of the message that the reply answers; unset for a reply that answers none, also when a turn sent it.
   */
  readonly answers?: string;
}

/** A chunk of one logical reply. */
export interface OutboxRow extends Answering {
  readonly id: number;
  /** Names the logical reply for ever: planning it again changes nothing. */
  readonly replyKey: string;
  readonly part: number;
  /**
   * Name of the chunk for the platform: the same for every try, and used for no other message of any journal, account
   * or chat.
   */
  readonly sendKey: string;
  readonly inboxId?: number;
  /** Session and run of the message that the reply answers, once that message was claimed. */
  readonly sessionKey?: SessionKey;
  readonly runId?: RunId;
  readonly to: Peer;
  readonly body: OutboundPart;
  readonly buttons?: readonly ReplyButton[];
  /** Comes without a sound. */
  readonly silent?: boolean;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly messageId?: string;
  /** A preview on the platform that this row's text replaces. */
  readonly editOf?: string;
  readonly error?: string;
  readonly createdAt: number;
  readonly sentAt?: number;
  /** Time at which an operator last had the chunk sent again; its age counts from there. */
  readonly retriedAt?: number;
  /** Whether the chat may show the chunk twice: it was sent again, or after text that may be there already. */
  readonly isRepeat?: boolean;
  /** Set while the chat may lack the chunk and has not been informed yet. */
  readonly gap?: GapCause;
}

export interface PlannedRow extends OutboxRow {
  /** This call of `plan` has stored the row as `sending`, with one attempt: the caller sends it at once. */
  readonly isBegun?: true;
}

export interface PlannedReply extends Answering {
  readonly replyKey: string;
  readonly inboxId?: number;
  readonly to: Peer;
  readonly parts: readonly OutboundPart[];
  /** Every part answers `replyTo`, not the first alone. */
  readonly quoteAll?: boolean;
  readonly buttons?: readonly ReplyButton[];
  readonly silent?: boolean;
  readonly editOf?: string;
  /** The chat may already show the same text. */
  readonly isRepeat?: boolean;
  /** Ids of rows that this text reports as possibly missing. Their `gap` is removed. */
  readonly reportsGapsOf?: readonly number[];
}

export interface OutboxChange {
  readonly state: OutboxState;
  /** Whether this attempt may be the second that arrives; remains set. */
  readonly isRepeat?: boolean;
  /**
   * Whether the row ends without the platform's answer: a send in progress may have arrived, and a later send is
   * labelled.
   */
  readonly isGivenUp?: boolean;
  /**
   * Why the chat may lack the chunk. The chat is informed; of `refused` only when the answer has other parts, of
   * `unfit` unless a tool sent it.
   */
  readonly gap?: GapCause;
  readonly messageId?: string;
  readonly error?: string;
}

export interface OutboxJournal {
  /** Stores the chunks in one transaction, and with `now` begins the first. A reply planned before gives back its rows unchanged. */
  plan(reply: PlannedReply, begin?: "now"): Promise<readonly PlannedRow[]>;
  /** The name of a preview for the platform, as `OutboxRow.sendKey` is that of a message. `eventKey`: of the message that is answered. */
  previewKey(to: Peer, eventKey: string): string;
  /** `sending` is durable before the platform is called and counts one attempt. */
  mark(id: number, change: OutboxChange): Promise<void>;
  /** Rows that are neither sent nor failed, oldest first. */
  open(): Promise<readonly OutboxRow[]>;
  /** Rows that were given up and whose `gap` the chat was not informed of, oldest first. */
  unreportedGaps(): Promise<readonly OutboxRow[]>;
  of(inboxId: number): Promise<readonly OutboxRow[]>;
  /**
   * The chats of the messages with this id that this account sent; with `command`, only of messages that have a button
   * with that command. Then a message that is being sent counts too, whatever its id will be, and so does an approval
   * question whose arrival a kill left unknown: a person who presses its button learns that the question is over.
   */
  chatsOf(of: Pick<Peer, "channel" | "account">, messageId: string, command?: string): Promise<readonly Peer[]>;
  /** Questions about commands of the last hour whose end was not written, because the gateway was killed. */
  unansweredQuestions(): Promise<readonly OutboxRow[]>;
  /** Rows that answer the messages of a run, in order. */
  ofRun(runId: string): Promise<readonly OutboxRow[]>;
  /**
   * Keeps the id of a turn's preview message, so that its final can be an edit of the preview after a crash. Noted with
   * an empty id before the request to the platform: a crash in between leaves a preview that nobody can edit.
   */
  notePreview(inboxId: number, to: Peer, messageId: string): Promise<void>;
  /** Removes the note of a preview that the platform did not accept: the chat shows nothing of it. */
  forgetPreview(inboxId: number): Promise<void>;
  previewOf(inboxId: number): Promise<string | undefined>;
  /**
   * Notes, before it is shown, that the preview of a turn, as a message or otherwise, has at most so many UTF-16 units.
   */
  notePreviewLength(inboxId: number, characters: number): Promise<void>;
  /** Zero where none was noted. */
  previewLengthOf(inboxId: number): Promise<number>;
}

export interface PairingDesk {
  /**
   * A stranger wrote. `again`: has a valid code already. `full`: three others are waiting at this account, and none of their
   * codes is ten minutes old, or this stranger had a code within the last hour; otherwise the oldest code gives way.
   */
  request(from: {
    channel: string;
    account: string;
    senderId: string;
    name?: string;
  }): Promise<{ readonly kind: "new" | "again"; readonly request: PairingRequest } | { readonly kind: "full" }>;
  list(): Promise<readonly PairingRequest[]>;
  /** Strangers of the last day who have no code, the latest first. */
  turnedAway(): Promise<readonly TurnedAway[]>;
  /**
   * Lets in who has this code, or who waits under this id of the platform; with `account`, only there. Undefined when nobody
   * does, or when the id waits at several accounts.
   */
  approve(channel: string, codeOrSender: string, account?: string): Promise<Paired | undefined>;
  /** Takes the stranger's code away; the next message gets a new one. False when there is none. */
  dismiss(of: Pick<PairingRequest, "channel" | "account" | "code">): Promise<boolean>;
  isPaired(channel: string, account: string, senderId: string): Promise<boolean>;
  /** Everybody who was let in, the latest first. */
  admitted(): Promise<readonly Admitted[]>;
  /**
   * Takes the code of a stranger away, who is named as for `approve`. Undefined when nobody is meant, or when the id waits
   * at several accounts.
   */
  reject(channel: string, codeOrSender: string, account?: string): Promise<Paired | undefined>;
  /** Lets a person in no more, at one account or at all. Returns those who were in. */
  revoke(channel: string, senderId: string, account?: string): Promise<readonly Admitted[]>;
  /** Lets these people in, as another gateway had done; all or, when it rejects, none. */
  admit(people: readonly Paired[]): Promise<void>;
}

/** A finished run, kept for `status`, `usage` and `why`. */
export interface RunRecord {
  readonly runId: RunId;
  readonly sessionKey: SessionKey;
  /** Records of older versions may have none. */
  readonly agentId?: AgentId;
  readonly at: number;
  readonly receipt: Receipt;
  readonly result: string;
}

/** Selects runs; all when empty. */
export interface RunFilter extends AgentFilter {
  readonly sessionKey?: SessionKey | undefined;
  /** Only failed runs. */
  readonly isFailed?: boolean | undefined;
}

export interface PluginTotal {
  readonly plugin: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly costUsd: number;
}

/**
 * Sums of runs and of auxiliary model calls; `runs` counts the runs, `failed` the runs whose result begins with that
 * word.
 */
export interface RunTotals {
  readonly runs: number;
  readonly failed: number;
  readonly input: number;
  readonly output: number;
  readonly costUsd: number;
}

export interface RunLedger {
  record(run: RunRecord): Promise<void>;
  /** The latest first. */
  recent(limit: number, filter?: RunFilter): Promise<readonly RunRecord[]>;
  /** The latest run of a session; auxiliary costs are not included. */
  last(sessionKey: SessionKey): Promise<RunRecord | undefined>;
  find(runId: string): Promise<RunRecord | undefined>;
  /** Runs whose id begins so, the latest first. */
  beginningWith(prefix: string, limit: number): Promise<readonly RunRecord[]>;
  /** Sums since an epoch millisecond. */
  totals(since: number): Promise<RunTotals>;
  /** The model calls of plugins since an epoch millisecond, in runs and outside of them; sorted by plugin. */
  pluginTotals(since: number): Promise<readonly PluginTotal[]>;
}

/** Something that happened in the gateway, for the next turn of a session. */
export interface SystemEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly text: string;
}

/**
 * Events that wait for the next turn of their session. A turn claims them; they are removed once the turn is in the
 * transcript, so that each is delivered exactly once, even if the process is killed.
 */
export interface SystemEvents {
  /** Empty text is no event, nor is the text of the newest one that waits. Of more than 20 that wait, the oldest go. */
  add(key: SessionKey, text: string): Promise<void>;
  /**
   * Ids of the turns that have claimed events of a session and have not removed them; `waiting` when other events are
   * unclaimed. A power cut may still undo these claims.
   */
  claims(key: SessionKey): Promise<{ readonly turnIds: readonly string[]; readonly waiting: boolean }>;
  /** All events of a session now belong to this turn: the newest 20, oldest first. The same turn gets the same ones again. */
  claim(key: SessionKey, turnId: string): Promise<readonly SystemEvent[]>;
  /** The transcript has the turn and with it its events. */
  remove(key: SessionKey, turnId: string): Promise<void>;
}

/** The conversation of a received file: only its turns and owners' turns may read it. */
export interface ReceivedFiles {
  /** Files by their names in the media store. */
  note(names: readonly string[], key: SessionKey): Promise<void>;
  of(key: SessionKey): Promise<readonly string[]>;
}

/** Small durable values (adopted marker, learned limits, idempotency results). */
export interface KeyValue {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
}

/** Texts that many runs share, such as system prompts: each is kept once. */
export interface Texts {
  /** Key of the text; durable with the next commit. Known texts are not written again. */
  put(text: string): Promise<string>;
  get(key: string): Promise<string | undefined>;
}

/** The durable journal of one state directory. */
export interface Journal {
  readonly inbox: Inbox;
  readonly outbox: OutboxJournal;
  readonly pairing: PairingDesk;
  readonly runs: RunLedger;
  readonly received: ReceivedFiles;
  readonly values: KeyValue;
  readonly sessions: SessionTable;
  readonly events: SystemEvents;
  readonly texts: Texts;
  readonly cron: CronTable;
  close(): Promise<void>;
}

/** Facts about a file from its sender, or from its place. */
export interface FileFacts {
  readonly mime?: string;
  readonly name?: string;
}

/** Bytes by id. The id is the file name in `media/`: random, followed by the safe characters of the sender's file name. */
export interface MediaStore {
  put(bytes: Uint8Array, facts: FileFacts): Promise<{ id: MediaId; mime: string; path: string; bytes: number }>;
  /** The MIME type that a file would be kept as: by its content, else as claimed, else by its name. */
  typeOf(bytes: Uint8Array, facts: FileFacts): Promise<string>;
  path(id: MediaId): string;
  read(id: MediaId): Promise<Uint8Array>;
}
