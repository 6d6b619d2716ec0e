import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { ChatFilter, ChatType, SessionEntry } from "../../types/session.ts";
import { agentOf } from "../keys.ts";

/** What decides the order of sessions. */
interface Position {
  readonly key: SessionKey;
  /** Epoch milliseconds. */
  readonly usedAt: number;
}

/** Finds sessions by their id, and by agent and kind of chat, without reading the rows of other sessions. */
export class RowIndex {
  readonly #defaultAgent: AgentId;
  /** A file that another program wrote may give one id to several keys. */
  readonly #byId = new Map<string, readonly SessionKey[]>();
  /** All sessions, the newest first. */
  readonly #all: Position[] = [];
  /** The newest first. */
  readonly #byChat = new Map<string, Position[]>();

  constructor(defaultAgent: AgentId, rows: ReadonlyMap<SessionKey, SessionEntry>) {
    this.#defaultAgent = defaultAgent;
    for (const [key, row] of rows) this.add(key, row);
  }

  withId(sessionId: string): SessionKey | undefined {
    return this.#byId.get(sessionId)?.[0];
  }

  /** The keys of an agent's chats of one kind, or all, the newest first. */
  *newest(of?: ChatFilter): Generator<SessionKey> {
    const positions = of ? this.#byChat.get(chatName(of.agent, of.chatType)) : this.#all;
    for (const { key } of positions ?? []) yield key;
  }

  /** Adds a row that is not in the index. Finds its index in each order by binary search. */
  add(key: SessionKey, row: SessionEntry): void {
    this.#byId.set(row.sessionId, [...(this.#byId.get(row.sessionId) ?? []), key]);
    const position = { key, usedAt: row.updatedAt };
    insert(this.#all, position);
    if (row.chatType !== undefined) insert(this.#positionsOf(key, row.chatType), position);
  }

  /** Removes a row; it must be as it was added. */
  remove(key: SessionKey, row: SessionEntry): void {
    const others = (this.#byId.get(row.sessionId) ?? []).filter((other) => other !== key);
    if (others.length === 0) this.#byId.delete(row.sessionId);
    else this.#byId.set(row.sessionId, others);
    const position = { key, usedAt: row.updatedAt };
    remove(this.#all, position);
    if (row.chatType !== undefined) remove(this.#positionsOf(key, row.chatType), position);
  }

  #positionsOf(key: SessionKey, chatType: ChatType): Position[] {
    const name = chatName(agentOf(key, this.#defaultAgent), chatType);
    const positions = this.#byChat.get(name) ?? [];
    this.#byChat.set(name, positions);
    return positions;
  }
}

const chatName = (agent: AgentId, chatType: ChatType): string => `${chatType}\n${agent}`;

function insert(positions: Position[], position: Position): void {
  positions.splice(indexOf(positions, position), 0, position);
}

function remove(positions: Position[], position: Position): void {
  const index = indexOf(positions, position);
  if (positions[index]?.key === position.key) positions.splice(index, 1);
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
