import type { AgentId, SessionKey } from "../types/ids.ts";
import type {
  ConversationFacts,
  EntryBody,
  ResetBy,
  ResetReason,
  Session,
  SessionEntry,
  SessionPatch,
  SessionWindow,
  TranscriptEntry,
  SessionWatcher,
  NextConversation,
  Succession,
  TranscriptUpdate,
  RowUpdateOptions,
} from "../types/session.ts";
import type { ChatMessage } from "../types/run/model.ts";
import { patchRow } from "./rows/row.ts";
import type { RowStore } from "./rows/row-store.ts";
import { NOTICE_TYPE } from "./transcript/history.ts";
import type { AppendOptions, Transcript } from "./transcript/transcript.ts";

/** The newest tokens of a conversation that a watcher gets before a reset. */
const WATCHED_TOKENS = 200_000;

/** The part of the session store that a held session needs. */
export interface Keeper {
  readonly rows: RowStore;
  readonly watcher?: SessionWatcher | undefined;
  now(): number;
  /** Archives the held transcript. */
  renew(key: SessionKey, row: SessionEntry): Promise<Renewed>;
  release(key: SessionKey): void;
  /** Informs watchers that a transcript was written. */
  tell(update: TranscriptUpdate): void;
}

/** The row and the transcript of a new session id. */
export interface Renewed {
  readonly row: SessionEntry;
  readonly transcript: Transcript;
  /** The new path of the old transcript; undefined when it had no file. */
  readonly archived: string | undefined;
}

export interface Holding {
  readonly key: SessionKey;
  readonly agentId: AgentId;
  readonly transcript: Transcript;
  /** The row is added when something is written. */
  readonly row: SessionEntry;
}

/** A conversation that one caller holds. Its methods throw after `release`. */
export class HeldSession implements Session {
  readonly key: SessionKey;
  readonly agentId: AgentId;
  readonly #keeper: Keeper;
  #transcript: Transcript;
  #draft: SessionEntry;
  /** The row is in the journal or is being written. */
  #recorded: Promise<void> | undefined;
  #isRecorded: boolean;
  #isReleased = false;

  constructor(keeper: Keeper, holding: Holding) {
    this.key = holding.key;
    this.agentId = holding.agentId;
    this.#keeper = keeper;
    this.#transcript = holding.transcript;
    this.#draft = holding.row;
    this.#isRecorded = keeper.rows.get(holding.key) !== undefined;
    if (this.#isRecorded) this.#recorded = Promise.resolve();
  }

  get id(): string {
    return this.entry.sessionId;
  }

  get file(): string {
    return this.#transcript.path;
  }

  get entry(): Readonly<SessionEntry> {
    return this.#keeper.rows.get(this.key) ?? this.#draft;
  }

  get isNew(): boolean {
    return !this.#transcript.hasMessage;
  }

  get leafId(): string | null {
    return this.#transcript.leafId;
  }

  get damagedPlaces(): number {
    return this.#transcript.damagedPlaces;
  }

  async window(maxTokens: number): Promise<SessionWindow> {
    return this.#held().window(maxTokens);
  }

  async after(entryId: string): Promise<readonly TranscriptEntry[] | undefined> {
    return this.#held().after(entryId);
  }

  async newest(count: number): Promise<readonly TranscriptEntry[]> {
    return this.#held().newest(count);
  }

  async parentOf(entryId: string): Promise<string | null | undefined> {
    return this.#held().parentOf(entryId);
  }

  async append(body: EntryBody, options: AppendOptions = {}): Promise<string> {
    const transcript = this.#held();
    // The key comes first: otherwise, after a crash, no key would lead to the file of a new transcript.
    if (!this.#isRecorded) await this.#record();
    const id = await transcript.append(body, options);
    this.#keeper.rows.set(this.key, { ...this.entry, updatedAt: this.#keeper.now() });
    const isNotice = body.type === "custom" && body.customType === NOTICE_TYPE;
    this.#keeper.tell({ key: this.key, file: transcript.path, entryId: id, ...(isNotice && { isNotice }) });
    return id;
  }

  sync(): Promise<void> {
    return this.#held().sync();
  }

  branch(entryId: string | null): void {
    this.#held().branch(entryId);
  }

  async update(patch: SessionPatch, options: RowUpdateOptions = {}): Promise<void> {
    this.#held();
    const { rows } = this.#keeper;
    if (options.now) return this.#updateNow(patch, options);
    const before = this.entry;
    const changesFile = patch.sessionId !== undefined || patch.sessionFile !== undefined;
    // By the kind of a chat other readers of the journal tell who may be shown the conversation.
    const changesKind = patch.chatType !== undefined && patch.chatType !== before.chatType;
    rows.set(this.key, patchRow(before, patch));
    if (!changesFile) await this.#record();
    if (changesFile || changesKind) await rows.flush();
  }

  async #updateNow(patch: SessionPatch, { resumedFrom }: RowUpdateOptions): Promise<void> {
    await this.#keeper.rows.patchNow(this.key, this.entry, patch);
    if (this.#recorded) return;
    this.#recorded = Promise.resolve();
    this.#isRecorded = true;
    this.#keeper.watcher?.started({ ...this.#facts(), ...(resumedFrom !== undefined && { resumedFrom }) });
  }

  async reset(reason: ResetReason, by?: ResetBy): Promise<void> {
    const { watcher } = this.#keeper;
    const facts = this.#facts();
    const messages = watcher?.wantsMessages === true ? await this.#messages() : [];
    await watcher?.beforeReset({ ...facts, reason, messages, by });
    const { row, transcript, archived } = await this.#keeper.renew(this.key, this.entry);
    this.#draft = row;
    this.#transcript = transcript;
    const next = { key: this.key, sessionId: this.id };
    watcher?.ended({ ...facts, reason, messageCount: messages.length, archived, next });
    watcher?.started({ ...this.#facts(), resumedFrom: facts.sessionId });
  }

  async succeed<T extends NextConversation>(begin: () => Promise<T>, { by, ends }: Succession): Promise<T> {
    const { watcher } = this.#keeper;
    const facts = this.#facts();
    const messages = watcher?.wantsMessages === true ? await this.#messages() : [];
    await watcher?.beforeReset({ ...facts, reason: "new", messages, by });
    const next = await begin();
    const ended = { ...facts, reason: "new" as const, messageCount: messages.length, archived: undefined, next };
    if (ends) watcher?.ended(ended);
    return next;
  }

  #facts(): ConversationFacts {
    return { key: this.key, agentId: this.agentId, sessionId: this.id, file: this.file };
  }

  async #messages(): Promise<readonly ChatMessage[]> {
    const { messages } = await this.#held().window(WATCHED_TOKENS);
    return messages.map(({ message }) => message);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#keeper.release(this.key);
  }

  /** Writes the row of a new key at once: after a crash the key must lead to its file. */
  #record(): Promise<void> {
    if (this.#recorded) return this.#recorded;
    this.#keeper.rows.set(this.key, this.entry);
    this.#keeper.watcher?.started(this.#facts());
    const recorded = this.#keeper.rows.flush();
    this.#recorded = recorded;
    // The waiting caller gets a failure; the next caller tries again.
    recorded.then(
      () => (this.#isRecorded = true),
      () => (this.#recorded = undefined),
    );
    return recorded;
  }

  #held(): Transcript {
    if (this.#isReleased) throw new Error(`session ${this.key} was used after its release`);
    return this.#transcript;
  }
}
