import { agentId, sessionKey, type SessionKey } from "../../../src/types/ids.ts";
import type {
  ChatFilter,
  ConversationTree,
  EntryBody,
  ForkAsk,
  Session,
  SessionEntry,
  SessionPatch,
  Sessions,
  TranscriptEntry,
  TranscriptUpdate,
} from "../../../src/types/session.ts";
import { Feed } from "../../../src/utils/feed.ts";

interface Kept {
  entry: SessionEntry;
  transcript: TranscriptEntry[];
}

/** Sessions without files. */
export class MemorySessions implements Sessions {
  readonly #kept = new Map<SessionKey, Kept>();

  add(key: string, bodies: readonly EntryBody[] = [], entry: Partial<SessionEntry> = {}): void {
    const kept = this.#open(sessionKey(key));
    Object.assign(kept.entry, entry);
    for (const body of bodies) push(kept, body);
  }

  async acquire(key: SessionKey): Promise<Session> {
    const kept = this.#open(key);
    return {
      key,
      agentId: agentId("main"),
      id: kept.entry.sessionId,
      file: "/nowhere.jsonl",
      entry: kept.entry,
      isNew: kept.transcript.length === 0,
      leafId: kept.transcript.at(-1)?.id ?? null,
      damagedPlaces: 0,
      window: async () => ({ messages: [], estimatedTokens: 0, older: false }),
      after: async () => undefined,
      newest: async (count) => kept.transcript.slice(-count),
      parentOf: async () => undefined,
      append: async (body) => push(kept, body),
      sync: async () => undefined,
      branch: () => undefined,
      update: async (patch) => this.#apply(key, kept, patch),
      reset: async () => {
        kept.transcript = [];
        kept.entry.sessionId = `${kept.entry.sessionId}-again`;
      },
      succeed: async (begin) => begin(),
      release: () => undefined,
    };
  }

  peek(key: SessionKey) {
    return this.#kept.get(key)?.entry;
  }

  fileOf() {
    return undefined;
  }

  list() {
    return [...this.#kept].map(([key, { entry }]) => ({ key, entry }));
  }

  withId(sessionId: string) {
    return this.list().find(({ entry }) => entry.sessionId === sessionId);
  }

  get count() {
    return this.#kept.size;
  }

  newest(of?: ChatFilter) {
    const rows = this.list().toSorted((a, b) => b.entry.updatedAt - a.entry.updatedAt);
    return of ? rows.filter(({ entry }) => of.agent === "main" && entry.chatType === of.chatType) : rows;
  }

  async patch(key: SessionKey, patch: SessionPatch) {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#apply(key, kept, patch);
    return kept?.entry;
  }

  async remove(key: SessionKey) {
    return this.#kept.delete(key) ? { archived: `/nowhere/${key}.jsonl.deleted` } : undefined;
  }

  async history(key: SessionKey, limit: number) {
    const all = this.#kept.get(key)?.transcript ?? [];
    return { entries: all.slice(-limit), hasMore: all.length > limit };
  }

  async tree(key: SessionKey): Promise<ConversationTree> {
    const all = this.#kept.get(key)?.transcript ?? [];
    const messages = all.flatMap((entry) => (entry.type === "message" ? entry : [])).toReversed();
    const leafId = all.at(-1)?.id;
    return {
      branches: leafId === undefined ? [] : [{ leafId, isActive: true, messages }],
      find: (id) => all.filter((entry) => entry.id === id).map((entry) => ({ entry, isActive: true }))[0],
    };
  }

  async fork(from: SessionKey, { to, patch }: ForkAsk) {
    const kept = this.#kept.get(from);
    if (kept) this.#open(to).transcript = [...kept.transcript];
    return kept && this.patch(to, patch);
  }

  async opening(key: SessionKey) {
    for (const entry of this.#kept.get(key)?.transcript ?? [])
      if (entry.type === "message" && entry.message.role === "user" && typeof entry.message.content === "string")
        return entry.message.content;
    return undefined;
  }

  readonly changes = new Feed<TranscriptUpdate>();
  updates(signal?: AbortSignal) {
    return this.changes.watch(signal);
  }

  readonly patched = new Feed<SessionKey>();
  settingChanges(signal?: AbortSignal) {
    return this.patched.watch(signal);
  }

  #apply(key: SessionKey, kept: Kept, patch: SessionPatch): void {
    Object.assign(kept.entry, patch);
    this.patched.publish(key);
  }

  async flush() {}
  async close() {}

  #open(key: SessionKey): Kept {
    const kept = this.#kept.get(key) ?? {
      entry: { sessionId: `id-${this.#kept.size}`, updatedAt: 1_000 },
      transcript: [],
    };
    this.#kept.set(key, kept);
    return kept;
  }
}

function push(kept: Kept, body: EntryBody): string {
  const id = `entry${kept.transcript.length}`;
  const parentId = kept.transcript.at(-1)?.id ?? null;
  kept.transcript.push({
    ...body,
    id,
    parentId,
    timestamp: new Date(1_000_000 + kept.transcript.length).toISOString(),
  });
  return id;
}
