import { type SessionKey, type AgentId, sessionKey } from "../../types/ids.ts";
import type { ChatFilter, SessionEntry, SessionPatch, ChatType } from "../../types/session.ts";
import { Feed } from "../../utils/feed.ts";
import { columnOf, mapRows } from "./merge-rows.ts";
import { hasSameSettings, keptRow, patchRow, takenBack } from "./row.ts";
import { RowsExport, type RowsOptions } from "./rows-export.ts";
import { chatOf } from "../chat-of.ts";
import { OPERATOR_KEY, type ParsedKey, parseKey } from "../keys.ts";

const BATCH_MS = 3000;

/** Earlier versions kept joined direct chats beside the operator's own: the session used last is the main one. */
function withOneMain(rows: Map<SessionKey, SessionEntry>): Map<SessionKey, SessionEntry> {
  const joined = rows.get(JOINED_KEY);
  if (!joined) return rows;
  const own = rows.get(OPERATOR_KEY);
  const [main, other] = own && own.updatedAt > joined.updatedAt ? [own, joined] : [joined, own];
  rows.delete(JOINED_KEY);
  rows.set(OPERATOR_KEY, main);
  if (other) rows.set(sessionKey(`webchat:default:${other.sessionId}`), { label: "Earlier main chat", ...other });
  return rows;
}
const JOINED_KEY = sessionKey("main");

/** The session rows in memory. Changes reach the journal within seconds, or at once; `sessions.json` follows later. */
export class RowStore {
  readonly settingChanges = new Feed<SessionKey>();
  readonly #options: RowsOptions;
  readonly #rows: Map<SessionKey, SessionEntry>;
  readonly #index: RowIndex;
  readonly #export: RowsExport;
  /** Keys changed since the last write. */
  #dirty = new Set<SessionKey>();
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(options: RowsOptions, rows: Map<SessionKey, SessionEntry>) {
    this.#options = options;
    this.#rows = rows;
    this.#index = new RowIndex(options.defaultAgent, rows);
    this.#export = new RowsExport(options, {
      all: rows,
      adopt: (changes) => {
        for (const [key, row] of changes) this.#put(key, row);
        return this.flush();
      },
    });
  }

  /** Rejects when the journal cannot be read. */
  static async open(options: RowsOptions): Promise<RowStore> {
    const { dir, earlier } = options;
    const stored = columnOf(await options.table.all(), "row");
    const rows = withOneMain(mapRows(stored, (row) => keptRow(row, dir, earlier)));
    const store = new RowStore(options, rows);
    for (const key of new Set([...stored.keys(), ...rows.keys()]))
      if (rows.get(key) !== stored.get(key)) store.#dirty.add(key);
    await store.flush();
    await store.#export.open();
    return store;
  }

  get(key: SessionKey): SessionEntry | undefined {
    return this.#rows.get(key);
  }

  list(): readonly (readonly [SessionKey, SessionEntry])[] {
    return [...this.#rows];
  }

  get count(): number {
    return this.#rows.size;
  }

  withId(sessionId: string): readonly [SessionKey, SessionEntry] | undefined {
    const key = this.#index.withId(sessionId);
    const row = key === undefined ? undefined : this.#rows.get(key);
    return key === undefined || row === undefined ? undefined : [key, row];
  }

  /** The chosen rows, or all, the newest first. */
  *newest(of?: ChatFilter): Generator<readonly [SessionKey, SessionEntry]> {
    for (const key of this.#index.newest(of)) {
      const row = this.#rows.get(key);
      if (row) yield [key, row];
    }
  }

  /** Changes a row, or removes it; the journal has it within three seconds. */
  set(key: SessionKey, row: SessionEntry | undefined): void {
    const isListed = this.#rows.has(key) !== (row !== undefined);
    this.#put(key, row);
    this.#export.changed(key, isListed);
  }

  /**
   * Changes fields of a row; `row` is added when there is none. Resolves with the row when that is durable. Rejects with DISK_FULL
   * or DISK_WRITE, and the row is then as before.
   */
  async patchNow(key: SessionKey, row: SessionEntry, patch: SessionPatch): Promise<SessionEntry> {
    const before = this.#rows.get(key);
    const patched = patchRow(row, patch);
    this.set(key, patched);
    try {
      await this.flush();
      return patched;
    } catch (error) {
      const now = this.#rows.get(key);
      if (now) this.set(key, before && takenBack(now, patch, before));
      throw error;
    }
  }

  /** Resolves when every change so far is durable. Calls of one moment share a write. Rejects with DISK_FULL or DISK_WRITE. */
  flush(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const write = this.#write();
      // The callers of this write get its failure; the next write only waits for its end.
      this.#writing = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  /** Writes the journal and `sessions.json`. Rejects when the journal cannot be written. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#forget?.();
      await this.#export.close();
    }
  }

  #put(key: SessionKey, row: SessionEntry | undefined): void {
    const was = this.#rows.get(key);
    if (was) this.#index.remove(key, was);
    if (row) {
      const kept = keptRow(row, this.#options.dir, this.#options.earlier);
      this.#rows.set(key, kept);
      this.#index.add(key, kept);
    } else this.#rows.delete(key);
    if (row && !hasSameSettings(was, row)) this.settingChanges.publish(key);
    this.#dirty.add(key);
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#forget ??= this.#options.clock.after(BATCH_MS, () => {
      this.#forget = undefined;
      this.flush().catch((error: unknown) =>
        this.#options.log.error("session rows were not written; it is tried again", { error }),
      );
    });
  }

  async #write(): Promise<void> {
    this.#forget?.();
    this.#forget = undefined;
    if (this.#dirty.size === 0) return;
    const written = this.#dirty;
    this.#dirty = new Set();
    try {
      await this.#options.table.write([...written].map((key) => [key, this.#rows.get(key)]));
    } catch (error) {
      for (const key of written) this.#dirty.add(key);
      this.#writeSoon();
      throw error;
    }
  }
}

/** The name of the list of all sessions. */
const ALL = "";

/** Finds sessions by their id, and by agent, kind of chat, channel and person, without reading the rows of other sessions. */
class RowIndex {
  readonly #defaultAgent: AgentId;
  /** A file that another program wrote may give one id to several keys. */
  readonly #byId = new Map<string, readonly SessionKey[]>();
  readonly #lists = new NewestFirst();

  constructor(defaultAgent: AgentId, rows: ReadonlyMap<SessionKey, SessionEntry>) {
    this.#defaultAgent = defaultAgent;
    // The rows are added in their order, so that each goes to the end of its lists.
    const newestFirst = [...rows].toSorted(([, one], [, other]) => other.updatedAt - one.updatedAt);
    for (const [key, row] of newestFirst) this.add(key, row);
  }

  withId(sessionId: string): SessionKey | undefined {
    return this.#byId.get(sessionId)?.[0];
  }

  /** The keys of the chosen sessions, or all, the newest first. */
  *newest(of?: ChatFilter): Generator<SessionKey> {
    for (const { key, channel } of this.#lists.of(of ? namesOf(of) : [ALL])) {
      if (of?.channel === undefined || of.channel === channel) yield key;
    }
  }

  /** Adds a row that is not in the index. */
  add(key: SessionKey, row: SessionEntry): void {
    this.#byId.set(row.sessionId, [...(this.#byId.get(row.sessionId) ?? []), key]);
    const { names, position } = this.#placeOf(key, row);
    for (const name of names) this.#lists.add(name, position);
  }

  /** Removes a row; it must be as it was added. */
  remove(key: SessionKey, row: SessionEntry): void {
    const others = (this.#byId.get(row.sessionId) ?? []).filter((other) => other !== key);
    if (others.length === 0) this.#byId.delete(row.sessionId);
    else this.#byId.set(row.sessionId, others);
    const { names, position } = this.#placeOf(key, row);
    for (const name of names) this.#lists.remove(name, position);
  }

  /** The lists that a row is in, and where. */
  #placeOf(key: SessionKey, row: SessionEntry): { readonly names: readonly string[]; readonly position: Position } {
    const chat = chatOf(key, row, this.#defaultAgent);
    const position = { key, usedAt: row.updatedAt, channel: chat?.channel };
    if (!chat || row.chatType === undefined) return { names: [ALL], position };
    const parsed = parseKey(key, this.#defaultAgent);
    const chats = chatsName(parsed.agentId, row.chatType);
    const people = new Set([...peopleOf(parsed, row), chat.chat.id]);
    const ofPeople = [...people].map((person) => personName(chats, person));
    return { names: [ALL, chats, channelName(chats, chat.channel), ...ofPeople], position };
  }
}

function namesOf({ agent, chatType, channel, people }: ChatFilter): readonly string[] {
  const chats = chatsName(agent, chatType);
  if (people) return people.map((person) => personName(chats, person));
  return [channel === undefined ? chats : channelName(chats, channel)];
}

const chatsName = (agent: AgentId, chatType: ChatType): string => `${chatType}\n${agent}`;
const channelName = (chats: string, channel: string): string => `${chats}\nchannel\n${channel}`;
const personName = (chats: string, person: string): string => `${chats}\nperson\n${person}`;

/** Who wrote last, and whom the key names. */
function peopleOf(parsed: ParsedKey, { origin }: SessionEntry): readonly string[] {
  const named = parsed.kind === "direct" ? [parsed.sender] : [];
  const linked = parsed.kind === "peer" ? [parsed.name] : [];
  const from = origin?.from === undefined ? [] : [origin.from.slice(origin.from.indexOf(":") + 1)];
  return [...named, ...linked, ...from];
}

/** The fields that decide the order of sessions. */
interface Position {
  readonly key: SessionKey;
  /** Epoch milliseconds. */
  readonly usedAt: number;
  /** The channel of the session's chat, if it has one. */
  readonly channel: string | undefined;
}

/** Lists of sessions, each with a name and the newest first. Finds an index by binary search. */
class NewestFirst {
  readonly #lists = new Map<string, Position[]>();

  add(name: string, position: Position): void {
    const list = this.#lists.get(name) ?? [];
    this.#lists.set(name, list);
    list.splice(indexOf(list, position), 0, position);
  }

  remove(name: string, position: Position): void {
    const list = this.#lists.get(name) ?? [];
    const index = indexOf(list, position);
    if (list[index]?.key === position.key) list.splice(index, 1);
    if (list.length === 0) this.#lists.delete(name);
  }

  /** Merges the named lists in one order, without duplicates. */
  *of(names: readonly string[]): Generator<Position> {
    const places = names.map((name) => ({ list: this.#lists.get(name) ?? [], at: 0 }));
    const [only, ...others] = places;
    if (only && others.length === 0) return yield* only.list;
    for (;;) {
      const first = places.flatMap(({ list, at }) => list[at] ?? []).toSorted(byTime)[0];
      if (!first) return;
      yield first;
      for (const place of places) if (place.list[place.at]?.key === first.key) place.at += 1;
    }
  }
}

/** The index of a position in the order, or where it would be inserted. */
function indexOf(positions: readonly Position[], position: Position): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = positions[middle];
    if (other && isBefore(other, position)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isBefore = (one: Position, other: Position): boolean =>
  one.usedAt === other.usedAt ? one.key < other.key : one.usedAt > other.usedAt;

const byTime = (one: Position, other: Position): number => (isBefore(one, other) ? -1 : 1);
