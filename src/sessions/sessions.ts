import { randomUUID } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { makePrivateDir, removeAllUnfinished, writeAtomic } from "../store/disk.ts";
import { type EarlierPlaces, readPlaces } from "../store/places.ts";
import { type Clock, systemClock } from "../types/clock.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { Log } from "../types/log.ts";
import type {
  ChatFilter,
  ForkAsk,
  RemovedSession,
  Session,
  SessionEntry,
  SessionPatch,
  SessionRow,
  SessionTable,
  SessionWatcher,
  Sessions,
  TranscriptUpdate,
} from "../types/session.ts";
import { setAside } from "./transcript/archive.ts";
import { TRANSCRIPT_VERSION } from "./transcript/entries.ts";
import { HeldSession, type Keeper, type Renewed } from "./held-session.ts";
import { type HistoryPage, readHistory, readOpening } from "./transcript/history.ts";
import { agentOf, canonicalKey } from "./keys.ts";
import { type PoolLimits, TranscriptPool } from "./pool.ts";
import { readHeader } from "./transcript/prepare.ts";
import { RowStore } from "./rows/row-store.ts";
import { entryHere } from "./transcript/here.ts";
import { isInside } from "../utils/real-path.ts";
import { fileOf, forkRow, patchRow, renewRow } from "./rows/row.ts";
import { transcriptHeader, Transcript } from "./transcript/transcript.ts";
import { readBranches, Tree } from "./transcript/tree.ts";

/**
 * Limits of the memory for conversations that nobody uses at the moment. 64 windows of 200,000 tokens would be more
 * than 60 MiB; 50 chats of 200 short turns are some 15 MiB.
 */
const IN_MEMORY = { count: 64, bytes: 32 * 2 ** 20 };

export interface SessionsOptions {
  /** The directory of sessions.json and the transcripts, in the state directory. */
  readonly dir: string;
  /** The workspace written into a new transcript's header. */
  cwdFor(agentId: AgentId): string;
  /** Where the rows are kept. */
  readonly table: SessionTable;
  readonly log: Log;
  readonly clock?: Clock;
  /** Limits of the memory for released sessions. */
  readonly inMemory?: PoolLimits;
  readonly defaultAgent: AgentId;
  readonly watcher?: SessionWatcher | undefined;
}

/**
 * Opens the sessions of a state directory, and removes what killed processes left of unfinished copies. A sessions.json that cannot be read is set aside and logged, never overwritten.
 * `acquire` throws `OpenClawError` TRANSCRIPT_NEWER when the key's file is of a newer version.
 */
export async function openSessions(options: SessionsOptions): Promise<Sessions> {
  const { dir, table, log, defaultAgent, clock = systemClock } = options;
  await makePrivateDir(dir);
  await removeAllUnfinished(dir);
  const earlier = await readPlaces(dirname(dir));
  const rows = await RowStore.open({ dir, earlier, table, log, defaultAgent, clock });
  return new SessionFiles({ ...options, clock, earlier }, rows);
}

interface OpenOptions extends SessionsOptions {
  readonly clock: Clock;
  readonly earlier: EarlierPlaces;
}

type NewRow = SessionEntry & { readonly sessionFile: string };

class SessionFiles implements Sessions, Keeper {
  readonly rows: RowStore;
  readonly #options: OpenOptions;
  readonly #locks = new KeyLocks();
  readonly #unlocks = new Map<SessionKey, () => void>();
  readonly #pool: TranscriptPool;
  #isClosed = false;

  constructor(options: OpenOptions, rows: RowStore) {
    this.#options = options;
    this.rows = rows;
    this.#pool = new TranscriptPool(options.inMemory ?? IN_MEMORY);
  }

  get watcher(): SessionWatcher | undefined {
    return this.#options.watcher;
  }

  now(): number {
    return this.#options.clock.now();
  }

  async acquire(asked: SessionKey): Promise<Session> {
    const key = this.#canonical(asked);
    const unlock = await this.#lock(key);
    try {
      const row = this.rows.get(key) ?? this.#newRow();
      const path = fileOf(row, this.#options.dir);
      const transcript = await this.#pool.hold(key, path, () => this.#openTranscript(key, row.sessionId, path));
      this.#unlocks.set(key, unlock);
      return new HeldSession(this, { key, row, transcript, agentId: agentOf(key, this.#options.defaultAgent) });
    } catch (error) {
      unlock();
      throw error;
    }
  }

  peek(key: SessionKey): Readonly<SessionEntry> | undefined {
    return this.rows.get(this.#canonical(key));
  }

  fileOf(key: SessionKey): string | undefined {
    const row = this.peek(key);
    return row && fileOf(row, this.#options.dir);
  }

  list(): readonly SessionRow[] {
    return this.rows.list().map(([key, entry]) => ({ key, entry }));
  }

  withId(sessionId: string): SessionRow | undefined {
    const found = this.rows.withId(sessionId);
    return found && { key: found[0], entry: found[1] };
  }

  get count(): number {
    return this.rows.count;
  }

  *newest(of?: ChatFilter): Generator<SessionRow> {
    for (const [key, entry] of this.rows.newest(of)) yield { key, entry };
  }

  async patch(
    asked: SessionKey,
    patch: SessionPatch,
    { now = false }: { now?: boolean } = {},
  ): Promise<Readonly<SessionEntry> | undefined> {
    const key = this.#canonical(asked);
    const row = this.rows.get(key);
    if (!row) return undefined;
    if (now) return this.rows.patchNow(key, row, patch);
    const patched = patchRow(row, patch);
    this.rows.set(key, patched);
    if (patched.sessionId !== row.sessionId || patched.sessionFile !== row.sessionFile) await this.rows.flush();
    return patched;
  }

  async remove(asked: SessionKey): Promise<RemovedSession | undefined> {
    const key = this.#canonical(asked);
    const unlock = await this.#lock(key);
    try {
      const row = this.rows.get(key);
      if (!row) return undefined;
      await this.#pool.drop(key);
      const archived = await setAside(fileOf(row, this.#options.dir), "deleted", this.now());
      this.rows.set(key, undefined);
      await this.rows.flush();
      const file = fileOf(row, this.#options.dir);
      this.tell({ key, file });
      const agentId = agentOf(key, this.#options.defaultAgent);
      const ended = { key, agentId, sessionId: row.sessionId, file, archived };
      this.watcher?.ended({ ...ended, reason: "deleted", messageCount: 0 });
      return { archived };
    } finally {
      unlock();
    }
  }

  async tree(asked: SessionKey): Promise<Tree> {
    const key = this.#canonical(asked);
    const row = this.rows.get(key);
    if (!row) return new Tree([]);
    await this.#migrate(key, row);
    return readBranches(fileOf(row, this.#options.dir));
  }

  async fork(from: SessionKey, { to, until, patch }: ForkAsk): Promise<Readonly<SessionEntry> | undefined> {
    const row = this.peek(from);
    if (!row) return undefined;
    const key = this.#canonical(to);
    const unlock = await this.#lock(key);
    try {
      if (this.rows.get(key)) throw new Error(`session ${key} is there already`);
      const tree = await this.tree(from);
      const fresh = this.#newRow();
      const lines = until === null ? [] : tree.linesTo(until);
      await this.#writeNew(key, fresh, lines);
      this.rows.set(key, patchRow(forkRow(row, fresh), patch));
      await this.rows.flush();
      const file = fileOf(fresh, this.#options.dir);
      this.tell({ key, file });
      this.watcher?.started({
        key,
        agentId: agentOf(key, this.#options.defaultAgent),
        sessionId: fresh.sessionId,
        file,
      });
      return this.rows.get(key);
    } finally {
      unlock();
    }
  }

  async #writeNew(key: SessionKey, { sessionId, sessionFile }: NewRow, lines: readonly string[]): Promise<void> {
    const path = join(this.#options.dir, sessionFile);
    const header = transcriptHeader({ sessionId, sessionKey: key, cwd: this.#cwdOf(key, path), now: () => this.now() });
    await writeAtomic(path, [JSON.stringify(header), ...lines, ""].join("\n"));
  }

  async history(asked: SessionKey, limit: number): Promise<HistoryPage> {
    const key = this.#canonical(asked);
    const row = this.rows.get(key);
    if (!row) return { entries: [], hasMore: false, bytesRead: 0 };
    await this.#migrate(key, row);
    const page = await readHistory(fileOf(row, this.#options.dir), limit);
    return { ...page, entries: page.entries.map((entry) => entryHere(entry, this.#options.earlier)) };
  }

  /** Opening migrates an older version; no other process can be writing such a file. */
  async #migrate(key: SessionKey, row: SessionEntry): Promise<void> {
    const header = await readHeader(fileOf(row, this.#options.dir));
    if (header && header.version < TRANSCRIPT_VERSION) (await this.acquire(key)).release();
  }

  updates(signal?: AbortSignal): AsyncIterable<TranscriptUpdate> {
    return this.#pool.updates.watch(signal);
  }

  async opening(asked: SessionKey): Promise<string | undefined> {
    const path = this.fileOf(asked);
    return path === undefined ? undefined : readOpening(path);
  }

  settingChanges(signal?: AbortSignal): AsyncIterable<SessionKey> {
    return this.rows.settingChanges.watch(signal);
  }

  tell(update: TranscriptUpdate): void {
    this.#pool.updates.publish(update);
  }

  flush(): Promise<void> {
    return this.rows.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pool.updates.close();
    this.rows.settingChanges.close();
    await this.#pool.close();
    await this.rows.close();
  }

  async renew(key: SessionKey, row: SessionEntry): Promise<Renewed> {
    await this.#pool.drop(key);
    const archived = await setAside(fileOf(row, this.#options.dir), "reset", this.now());
    const fresh = renewRow(row, this.#newRow());
    this.rows.set(key, fresh);
    const transcript = await this.#openTranscript(key, fresh.sessionId, fileOf(fresh, this.#options.dir));
    this.#pool.replace(key, transcript);
    await this.rows.flush();
    this.tell({ key, file: transcript.path });
    return { row: fresh, transcript, archived };
  }

  release(key: SessionKey): void {
    const unlock = this.#unlocks.get(key);
    this.#unlocks.delete(key);
    this.#pool
      .release(key)
      .catch((error: unknown) => this.#options.log.warn("a transcript could not be closed", { session: key, error }))
      .finally(() => unlock?.());
  }

  async #lock(key: SessionKey): Promise<() => void> {
    const unlock = await this.#locks.take(key);
    if (!this.#isClosed) return unlock;
    unlock();
    throw new Error("the sessions are closed");
  }

  #newRow(): NewRow {
    const sessionId = randomUUID();
    return { sessionId, updatedAt: this.now(), sessionFile: `${sessionId}.jsonl` };
  }

  #openTranscript(key: SessionKey, sessionId: string, path: string): Promise<Transcript> {
    const { log, earlier } = this.#options;
    return Transcript.open({
      path,
      sessionId,
      sessionKey: key,
      cwd: this.#cwdOf(key, path),
      earlier,
      log: log.with({ session: key }),
      now: () => this.now(),
    });
  }

  /** The workspace of the key's agent, as a transcript at this path names it. */
  #cwdOf(key: SessionKey, path: string): string {
    const { dir, cwdFor, defaultAgent } = this.#options;
    const workspace = cwdFor(agentOf(key, defaultAgent));
    const isOwn = [workspace, path].every((place) => isInside(place, dirname(dir)));
    return isOwn ? relative(dirname(path), workspace) : workspace;
  }

  #canonical(key: SessionKey): SessionKey {
    return canonicalKey(key, this.#options.defaultAgent);
  }
}

/** Locks with one holder for each key. Waiting callers get a lock in the order of their calls. */
class KeyLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves with the function that releases the key. A second call of the function does nothing. */
  async take(key: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#tails.get(key);
    this.#tails.set(key, promise);
    await before;
    return () => {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    };
  }
}
