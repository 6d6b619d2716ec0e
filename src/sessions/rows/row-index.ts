import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { ChatFilter, ChatType, SessionEntry } from "../../types/session.ts";
import { chatOf } from "../chat-of.ts";
import { type ParsedKey, parseKey } from "../keys.ts";

/** The name of the list of all sessions. */
const ALL = "";

/** Finds sessions by their id, and by agent, kind of chat, channel and person, without reading the rows of other sessions. */
export class RowIndex {
  readonly #defaultAgent: AgentId;
  /** A file that another program wrote may give one id to several keys. */
  readonly #byId = new Map<string, readonly SessionKey[]>();
  readonly #lists = new NewestFirst();

  constructor(defaultAgent: AgentId, rows: ReadonlyMap<SessionKey, SessionEntry>) {
    this.#defaultAgent = defaultAgent;
    // In their order, each is added at the end of its lists.
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

/** What decides the order of sessions. */
interface Position {
  readonly key: SessionKey;
  /** Epoch milliseconds. */
  readonly usedAt: number;
  /** The channel of its chat, if it has one. */
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

  /** What these lists have, in one order; once, what several of them have. */
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
