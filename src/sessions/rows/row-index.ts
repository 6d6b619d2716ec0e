import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { ChatType, SessionEntry } from "../../types/session.ts";
import { agentOf } from "../keys.ts";

/** Where a session is in the order of one agent's chats. */
interface Place {
  readonly key: SessionKey;
  /** Epoch milliseconds. */
  readonly usedAt: number;
}

/** Finds sessions by their id, and by agent and kind of chat, without reading the rows of other sessions. */
export class RowIndex {
  readonly #defaultAgent: AgentId;
  /** A file that another program wrote may give one id to several keys. */
  readonly #byId = new Map<string, readonly SessionKey[]>();
  /** The newest first. */
  readonly #byChat = new Map<string, Place[]>();

  constructor(defaultAgent: AgentId, rows: ReadonlyMap<SessionKey, SessionEntry>) {
    this.#defaultAgent = defaultAgent;
    for (const [key, row] of rows) this.add(key, row);
  }

  withId(sessionId: string): SessionKey | undefined {
    return this.#byId.get(sessionId)?.[0];
  }

  /** The keys of an agent's sessions of this kind, the newest first. */
  *newest(agent: AgentId, chatType: ChatType): Generator<SessionKey> {
    for (const { key } of this.#byChat.get(chatName(agent, chatType)) ?? []) yield key;
  }

  /** Takes in a row that is not in the index. Costs a search of the order, not a walk through it. */
  add(key: SessionKey, row: SessionEntry): void {
    this.#byId.set(row.sessionId, [...(this.#byId.get(row.sessionId) ?? []), key]);
    if (row.chatType === undefined) return;
    const place = { key, usedAt: row.updatedAt };
    const places = this.#placesOf(key, row.chatType);
    places.splice(indexOf(places, place), 0, place);
  }

  /** Takes out a row as it was added. */
  remove(key: SessionKey, row: SessionEntry): void {
    const others = (this.#byId.get(row.sessionId) ?? []).filter((other) => other !== key);
    if (others.length === 0) this.#byId.delete(row.sessionId);
    else this.#byId.set(row.sessionId, others);
    if (row.chatType === undefined) return;
    const places = this.#placesOf(key, row.chatType);
    const at = indexOf(places, { key, usedAt: row.updatedAt });
    if (places[at]?.key === key) places.splice(at, 1);
  }

  #placesOf(key: SessionKey, chatType: ChatType): Place[] {
    const name = chatName(agentOf(key, this.#defaultAgent), chatType);
    const places = this.#byChat.get(name) ?? [];
    this.#byChat.set(name, places);
    return places;
  }
}

const chatName = (agent: AgentId, chatType: ChatType): string => `${chatType}\n${agent}`;

/** Where a place is in the order, or would be. */
function indexOf(places: readonly Place[], place: Place): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = places[middle];
    if (other && isBefore(other, place)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isBefore = (one: Place, other: Place): boolean =>
  one.usedAt === other.usedAt ? one.key < other.key : one.usedAt > other.usedAt;
